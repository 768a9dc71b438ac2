/* A library named as the driver is, built with and without unwind tables and frame pointers: calls back through frames
   of its own. */
#ifdef __cplusplus
extern "C" {
#endif
/* What an earlier call left on the stack, in a frame of the driver. */
extern void* driver_dead_word;
void driver_shallow(void (*callback)(void*), void* argument);
void driver_deep(int depth, void (*callback)(void*), void* argument);
#ifdef __cplusplus
}
#endif
