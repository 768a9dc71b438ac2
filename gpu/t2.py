import time
from streamsan.machine_code.cubin import read_cubin
from streamsan.machine_code import kernel_accesses as ka
from streamsan.machine_code.disassembler import disassembled
c=open('big.cubin','rb').read(); cu=read_cubin(c)
t=time.time(); d=disassembled(c); print('dis',time.time()-t, sum(map(len,d.values())))
t=time.time(); r=ka.accesses_of(c,cu); print('all',time.time()-t)
