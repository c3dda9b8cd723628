// A `find` that waits until the test opens a gate, before the real one: a tool call that takes as long as the
// test wants.
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface SlowFind {
  /** For the daemon. */
  readonly env: Record<string, string>
  /** How often it was started. */
  runs(): Promise<number>
  /** Whether one of them is alive. */
  running(): boolean
  open(): Promise<void>
}

/** It ends by itself when its folder is removed. */
export async function slowFind(folder: string): Promise<SlowFind> {
  const bin = join(folder, '.bin')
  const [gate, pids] = [join(folder, '.gate'), join(folder, '.pids')]
  const path = process.env['PATH'] ?? ''
  await mkdir(bin)
  await writeFile(
    join(bin, 'find'),
    `#!/bin/sh\necho $$ >> '${pids}'\nwhile [ -d '${bin}' ] && [ ! -e '${gate}' ]; do sleep 0.02; done\nPATH='${path}' exec find "$@"\n`,
  )
  await chmod(join(bin, 'find'), 0o755)
  return {
    env: { PATH: `${bin}:${path}` },
    runs: async () => (await readFile(pids, 'utf8').catch(() => '')).split('\n').length - 1,
    running: () =>
      readFileSync(pids, 'utf8')
        .split('\n')
        .filter((pid) => pid !== '')
        .some((pid) => isAlive(Number(pid))),
    open: () => writeFile(gate, ''),
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
