// The bound of tests that say "takes little time".

/**
 * How long this thread computes for `work`, in ms of user processor time, which does not grow when other
 * programs keep the machine busy. If `work` is asynchronous, everything that this thread does meanwhile
 * counts.
 */
export async function ownMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  return process.threadCpuUsage(before).user / 1_000
}
