import time,subprocess,json,sys
from elftools.elf.elffile import ELFFile
t=time.time()
from streamsan.machine_code.cubin import read_cubin
c=open('big.cubin','rb').read(); cu=read_cubin(c); print('cubin',time.time()-t)
t=time.time()
f=ELFFile(open('big.cubin','rb')); st=f.get_section_by_name('.symtab')
idx=[i for i,s in enumerate(st.iter_symbols()) if s['st_info']['type']=='STT_FUNC']
print(idx[:5],len(idx),time.time()-t)
for n in (1,5,50):
    t=time.time()
    o=subprocess.run(['nvdisasm','--emit-json','--cuda-function-index',','.join(map(str,idx[:n])),'big.cubin'],capture_output=True)
    print(n,len(o.stdout),o.stderr[:200],time.time()-t)
    j=json.loads(o.stdout); print([x['function-name'] for x in j[1]][:3],len(j[1]))
