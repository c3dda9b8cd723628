// Schedules in a process of their own: on another core, or of sources from which one mend was taken out.
import { join } from 'node:path'
import { root } from '../../scripts/lib/layout.mjs'
import { run } from '../../scripts/lib/run.mjs'
import type { Explored } from './explore.ts'

export interface ApartOptions {
  readonly from: number
  readonly schedules: number
  /** The name of a mutation. */
  readonly without?: string
  readonly signal: AbortSignal
  /** Default 10 minutes. */
  readonly timeoutMs?: number
}

/** @throws {Error} with what the process said, when it did not explore */
export async function exploreApart({
  from,
  schedules,
  without,
  signal,
  timeoutMs = 600_000,
}: ApartOptions): Promise<Explored> {
  const mutated =
    without === undefined ? [] : ['--import', join(root, 'test', 'simulation', 'with-mutation.ts')]
  const args = [
    ...mutated,
    join(root, 'scripts', 'simulate.ts'),
    '--brief',
    '--seed',
    String(from),
    '--schedules',
    String(schedules),
  ]
  const env = { ...process.env, ...(without === undefined ? {} : { SIMULATE_WITHOUT: without }) }
  const { code, output } = await run(process.execPath, args, { cwd: root, env, signal, timeoutMs })
  if (code !== 0) throw new Error(`The simulation did not run: ${output}`)
  return JSON.parse(output.trim().split('\n').at(-1) ?? '') as Explored
}
