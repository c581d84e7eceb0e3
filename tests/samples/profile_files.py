"""Files of Ascend profiles, made by hand."""

SPLIT = {"Step": 7, "Computing": 30, "Communication(Not Overlapped)": 0, "Overlapped": 0, "Communication": 0,
         "Free": 10, "Stage": 40, "Bubble": 0}  # fmt: skip


OPERATOR = {
    "Communication Time Info": {"Start Timestamp(us)": 1.7e15, "Elapse Time(ms)": 10, "Transit Time(ms)": 2,
                                "Wait Time(ms)": 7, "Synchronization Time(ms)": 7, "Idle Time(ms)": 1},
    "Communication Bandwidth Info": {},
}  # fmt: skip

KERNELS = (
    "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"
    "0,hcom_allReduce__1_0_1,hcom_allReduce_,COMMUNICATION,1000,70\n0,a,MatMul,AI_CORE,1100,30\n"
)
