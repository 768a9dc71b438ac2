// The least that any recorder on CUPTI's callbacks costs: a subscriber to the storm's calls whose callback does nothing.
#include <initializer_list>

#include <cupti.h>

static void CUPTIAPI nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

extern "C" __attribute__((visibility("default"))) int InitializeInjection()
{
    CUpti_SubscriberHandle subscriber;
    if (cuptiSubscribe(&subscriber, nothing, nullptr) != CUPTI_SUCCESS) return 0;
    for (const CUpti_CallbackId id : {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                      CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync,
                                      CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch}) {
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
    return 1;
}
