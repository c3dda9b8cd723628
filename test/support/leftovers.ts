// What a test file must not leave behind: processes, temporary folders, open ports, secrets and streams. Each
// has a name for the message. What a worker keeps for its files, because it costs more to make than to use,
// is nobody's leftover: see `keep`.
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { protectedSecrets } from '@beaver/core/secrets'
import { namespacesLeft } from './nats.ts'
import { startedBy } from './processes.ts'

const values = new Map<string, unknown>()
const kept = new Set<string>()
const processName = (pid: number): string => `process ${pid}`

/**
 * The value of this name. The first call in a worker makes it. What is there afterwards and was not before is
 * kept: it ends with the worker, and its folders with the run.
 */
export async function keep<Value>(name: string, make: () => Promise<Value>): Promise<Value> {
  if (!values.has(name)) {
    const before = new Set((await present()).keys())
    values.set(name, await make())
    for (const each of (await present()).keys()) if (!before.has(each)) kept.add(each)
  }
  return values.get(name) as Value
}

/** What is there now, without what is kept: by name, with more about it. */
export async function present(): Promise<ReadonlyMap<string, string>> {
  const processes = startedBy(process.pid, (pid) => kept.has(processName(pid)))
  const ports = process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap')
  const found: [string, string][] = [
    ...processes.map(({ pid, command }): [string, string] => [processName(pid), command]),
    ...readdirSync(tmpdir()).map((name): [string, string] => [`folder ${name}`, '']),
    ...ports.map((_, i): [string, string] => [`open port ${i + 1}`, '']),
    ...protectedSecrets().map(({ name }): [string, string] => [`secret ${name}`, '']),
    ...(await namespacesLeft()).map(({ namespace, streams }): [string, string] => [
      `namespace ${namespace}`,
      streams.join(', '),
    ]),
  ]
  return new Map(found.filter(([name]) => !kept.has(name)))
}
