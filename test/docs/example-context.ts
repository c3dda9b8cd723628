// What an example may use without making it: a running Beaver, and what one task of it left in the journal.
// `run-examples.ts` sets the folder; the simulated model answers.
import { join } from 'node:path'
import type { BlobStore, LogId } from '@beaver/core'
import { foldTask, type RunState } from '@beaver/core/fold'
import type { ExecutionGraph } from '@beaver/core/graph'
import type { Journal, KeyPorts, RecordedEvent, SigningKey, SystemLog } from '@beaver/core/journal'
import type { BeaverClient } from '@beaver/client'
import { connectNats, embeddedLogin, findTask, natsBlobStore, natsJournal, subjectsOf } from '@beaver/nats'
import { AgentService } from '@beaver/service'
import { memoryKeys, memorySystemLog, newSigningKey } from '@beaver/testing'
import { sequentialWorkflow } from '@beaver/workflows'

const service = new AgentService({
  budgets: [
    { of: 'tenant', per: 'month', usd: 100 },
    { of: 'user', per: 'day', usd: 5 },
  ],
  onWarning: () => {},
})
const { nats_url: url } = await service.boot()
const dataDir = join('.beaver', 'nats')
const login = embeddedLogin(dataDir, 'client')
/** A connection as a client, and in whose name it asks. */
export const nc = await connectNats({ url, login, name: 'examples' })
export const caller = login.caller as string
const subjects = subjectsOf('default')
const writer = await connectNats({
  url,
  login: embeddedLogin(dataDir, 'daemon'),
  name: 'examples that write',
})

/** A client of the running Beaver. */
export const beaver: BeaverClient = service.client

const call = {
  task: 'Describe the tides.',
  agents: [
    { name: 'researcher', instruction: 'Collect facts.' },
    { name: 'writer', instruction: 'Write one paragraph.' },
  ],
}
const planned = sequentialWorkflow.plan(call)
if (!planned.ok) throw new Error(planned.error.message)

/** A team of a researcher and a writer, who needs the researcher's output. */
export const graph: ExecutionGraph = planned.graph

/** The ids of a task that ran this team and completed. */
const submitted = await beaver.run({ workflow: { name: 'SequentialWorkflow', arguments: call } })
export const { task_id, session_id } = submitted

/** The events of that task. */
export const events: RecordedEvent[] = []
for await (const event of beaver.watch(task_id)) events.push(event)

/** The run of the researcher, at its end. */
export const run = foldTask(events).runs.values().next().value as RunState

/** The log of that task, the journal that has it, and the blobs. */
const found = await findTask(nc, subjects, 'local', task_id)
if (found === null) throw new Error('The task has no log.')
export const log: LogId = found
export const journal: Journal = await natsJournal(writer, subjects)
export const blobs: BlobStore = await natsBlobStore(writer, subjects)

/** A system log without entries. */
export const systemLog: SystemLog = memorySystemLog()

/** A key, and what joining the keys of an empty journal needs. */
export const signingKey: SigningKey = newSigningKey()
export const keyPorts: KeyPorts = {
  log: memorySystemLog(),
  keys: memoryKeys(),
  namespace: 'default',
  now: () => Date.now(),
  name: 'here',
}

export async function close(): Promise<void> {
  await nc.close()
  await writer.close()
  await service.shutdown({ graceMs: 0, force: true })
}
