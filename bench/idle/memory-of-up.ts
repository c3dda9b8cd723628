// The memory of an idle `beaver up` with all that it started, 50 seconds after the start. Shared pages are
// counted once (Pss), so the sum is what the machine lacks.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { benchEnvironment } from '../beaver.ts'

const settleMs = 50_000

/** In MiB, by the name of the process; 0 where there is no /proc. */
export async function memoryOfUp(): Promise<Record<string, number>> {
  const home = mkdtempSync(join(tmpdir(), 'beaver-bench-up-'))
  const entry = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url))
  const up = spawn(process.execPath, [entry, 'up'], {
    cwd: home,
    env: { ...benchEnvironment('http://127.0.0.1:1/v1'), BEAVER_HOME: join(home, 'home') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const gone = once(up, 'exit')
  try {
    await Promise.race([
      isUp(up.stdout),
      gone.then(() => Promise.reject(new Error('"beaver up" ended during its start.'))),
    ])
    await sleep(settleMs)
    const sizes: Record<string, number> = {}
    let daemons = 0
    for (const pid of withChildren(up.pid ?? 0)) {
      const name = nameOf(pid)
      const key = name === 'daemon' && daemons++ > 0 ? 'spare' : name
      sizes[`${key}_mb`] = (sizes[`${key}_mb`] ?? 0) + pssMb(pid)
    }
    sizes['all_mb'] = Object.values(sizes).reduce((sum, each) => sum + each, 0)
    for (const [key, mb] of Object.entries(sizes)) sizes[key] = Math.round(mb)
    return sizes
  } finally {
    up.kill('SIGTERM')
    await gone
    rmSync(home, { recursive: true, force: true })
  }
}

async function isUp(output: NodeJS.ReadableStream): Promise<void> {
  for await (const line of createInterface({ input: output })) if (line.includes('Beaver is up')) return
}

function withChildren(pid: number): number[] {
  const parents = readdirSync('/proc').flatMap((name): [number, number][] => {
    const stat = /^\d+$/.test(name) ? textOf(`/proc/${name}/stat`) : ''
    return stat === '' ? [] : [[Number(name), Number(stat.replace(/^.*\) /s, '').split(' ')[1])]]
  })
  const childrenOf = (of: number): number[] =>
    parents.flatMap(([child, parent]) => (parent === of ? [child] : []))
  const all = (of: number): number[] => [of, ...childrenOf(of).flatMap(all)]
  return all(pid)
}

/** `daemon`, `projector`, `gateway`, `cli`; else `nats_server`. */
const nameOf = (pid: number): string =>
  /apps\/([a-z]+)\/src\/main/.exec(textOf(`/proc/${pid}/cmdline`))?.[1] ?? 'nats_server'

const pssMb = (pid: number): number =>
  Number(/^Pss:\s+(\d+)/m.exec(textOf(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // The process has ended.
  }
}
