// One contender as a process: sets up once, then runs a round whenever it is told to, and reports.
// A round: `concurrency` loops at a time for `warmMs`, not counted, then for `countedMs`.
import { readFileSync } from 'node:fs'

export interface Round {
  readonly concurrency: number
  readonly warmMs: number
  readonly countedMs: number
}

export interface RoundResult {
  readonly loopsPerSecond: number
  /** The CPU time of the contender's processes together, in ms. */
  readonly cpuMsPerLoop: number
  /** Peak resident memory of the contender's processes together, in MiB. */
  readonly peakMb: number
}

/** What a contender is: how it does one loop, and which other processes are part of it. */
export interface Contender {
  readonly loop: () => Promise<void>
  readonly pids?: readonly number[]
  /** Ends what the contender started. */
  readonly stop?: () => Promise<void>
}

/** Serves rounds. */
export async function serveArm(prepare: (providerUrl: string) => Promise<Contender>): Promise<void> {
  const contender = await prepare(process.env['BENCH_PROVIDER_URL'] as string)
  process.on('message', (round: Round) => {
    void runRound(contender, round).then((result) => process.send?.(result))
  })
  process.on('disconnect', () => void Promise.resolve(contender.stop?.()).finally(() => process.exit(0)))
  process.send?.('ready')
}

async function runRound(
  { loop, pids = [] }: Contender,
  { concurrency, warmMs, countedMs }: Round,
): Promise<RoundResult> {
  const begun = performance.now()
  let counted = 0
  let countFrom = 0
  let cpuFrom = cpuMs(pids)
  const until = begun + warmMs + countedMs
  const client = async (): Promise<void> => {
    while (performance.now() < until) {
      await loop()
      const now = performance.now()
      if (now < begun + warmMs || now > until) continue
      if (countFrom === 0) {
        countFrom = now
        cpuFrom = cpuMs(pids)
        continue
      }
      counted++
    }
  }
  await Promise.all(Array.from({ length: concurrency }, client))
  const used = cpuMs(pids) - cpuFrom
  const seconds = (Math.min(performance.now(), until) - countFrom) / 1000
  return {
    loopsPerSecond: counted / seconds,
    cpuMsPerLoop: used / counted,
    peakMb: process.resourceUsage().maxRSS / 1024 + pids.reduce((sum, pid) => sum + peakMbOf(pid), 0),
  }
}

/**
 * The CPU time in ms that this process and `pids` have used, all threads together. The kernel counts it in
 * hundredths of a second.
 */
function cpuMs(pids: readonly number[]): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 + pids.reduce((sum, pid) => sum + ticksOf(pid) * 10, 0)
}

function ticksOf(pid: number): number {
  try {
    // The name of the process comes first in parentheses and may hold spaces. The fields 14 and 15 are the
    // times in user mode and in the kernel.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return 0
  }
}

/**
 * From the kernel's books, where it keeps them (Linux); elsewhere 0: the figure is then this process's alone.
 */
function peakMbOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
