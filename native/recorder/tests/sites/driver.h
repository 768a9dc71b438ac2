/* A library named as the driver is, built with and without unwind tables and frame pointers: calls back through frames
   of its own. */
#ifdef __cplusplus
extern "C" {
#endif
void driver_shallow(void (*callback)(void*), void* argument);
void driver_deep(int depth, void (*callback)(void*), void* argument);
#ifdef __cplusplus
}
#endif
