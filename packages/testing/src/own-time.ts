// The bound of tests that say "takes little time".

/**
 * How long this thread computes for `work`, in ms: the user part of its processor time. Unlike the time of a
 * clock, it does not grow when other programs keep the machine busy. If `work` is asynchronous, everything
 * that this thread does meanwhile counts, and no other thread or process does.
 */
export async function ownMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  return process.threadCpuUsage(before).user / 1_000
}
