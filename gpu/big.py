print("template<int N> __global__ void k(float*a,const float*b,int n){int i=blockIdx.x*blockDim.x+threadIdx.x; float s=0; for(int j=0;j<N;j++) s+=b[(i*7+j)%n]*j; if(i<n) a[i]=s;}")
for i in range(1,500): print(f"template __global__ void k<{i%97+ (i//97)*1000}>(float*,const float*,int);")
