// The golden journals: logs as earlier versions wrote them. Every later version must read them all, and
// nobody edits them. When the catalog grows, a new file is added and listed here. It is written by hand or by
// a script that is not kept.
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { ZodObject } from 'zod'
import { eventData, type EventType } from '../events/catalog.ts'
import { eventVersions } from '../events/upcast.ts'
import { foldTask } from '../fold/task-state.ts'
import { type LogId, logKey } from '../ids.ts'
import { LogReader } from './read-log.ts'
import type { RecordedEvent, WireRecord } from './record.ts'

const files = {
  'journal-2026-11.ndjson': 'dfe5318dfef943ed4a973f915ca6bdd2fd8ffbd017bb67cf303180af84faad41',
  // Who asked, and for whom.
  'journal-2026-11-callers.ndjson': '62ca7224bab642360db6e094980e6c63aca40820eb70e33f222bca79fad639d1',
  'labels-2026-11.ndjson': 'c8e87ccac59474b6a15b9dbecb56d9854e2ebafcea8891e4cd4566ba0fdeb68b',
  // What a person is shown about a call.
  'journal-2026-11-shown.ndjson': '604bf65c8816e1dad597b396697a4089fb3ec9b998af3dd4e9dd49f8f28172f3',
  // A team's text that became the answer of the task.
  'delivered-2026-11.ndjson': '4162bd24bca3189080f7114b69b412539bb6d17e9fb4a69b31605003ff3cf4fd',
  // A task that was steered.
  'steered-2026-11.ndjson': '4da8f181beb5b6815f0bd0f5392f9c112b9e9785d4790349dca10de8cda7a312',
  // Outputs of other nodes that were too long for the agent.
  'outputs-2026-11.ndjson': 'da8f6dd721b6728866b6dde9fae220b6a53072a9e068a0eb40dde664afbff3a8',
  // The verdicts on the final text of a task, and a skill of its workspace.
  'evidence-2026-11.ndjson': '38b8211d041ccdd006ba9b931c1e25818f78f8f7b716b5c4b51d323423f33feb',
  // A run with a model of its own and settings for it, arguments that were left out, and an answer with what
  // goes back to its provider.
  'thoughts-2026-11.ndjson': '6c693b0c08a9541f3518a722feb7aa016e701b3ea2570caec6c9cac734e2afcb',
  // A tool whose schema the provider refused.
  'left-out-2026-11.ndjson': 'a5f5dbe4b34cfd3b3a0e1f7386e017c6988933fb5b76498c2bc6061d6f5c13c5',
  // Tokens of caches, thoughts and audio.
  'caches-2026-11.ndjson': 'a8f735091dafd1dda2673cd5070d08b1ec55eb6dcc34e901311276abc0e189f4',
  // Arguments that a person changed, and questions of a call.
  'questions-2026-11.ndjson': 'b9c00d60d91b0b7ae64591abebf874c8683bf8014589dcd67f25e219da46280f',
  // An answer that had to fit a JSON Schema, and was asked for again.
  'structured-2026-11.ndjson': 'ce4539f453c59db9c4d995aa237870b1826e13c1fc03407f15e5aac83089cf4c',
  // Images of a task and of a result, and images that were left out.
  'images-2026-11.ndjson': 'c57cf9302b083b2e8d252d35097685c781bdb6854870832bf91baa6c5c23c5e3',
  // Evidence that looks at places of an answer.
  'values-2026-11.ndjson': '2cb8fe93a0c86050716a0e3cae8eb4810f098abb45137a4176516309add9a44f',
  // An answer that broke off and is paid, with a count that nobody knows, and a text that did not fit.
  'paid-2026-11.ndjson': 'b65f3343d5aebafa14488872dcbba8c63d1d0cf2c72bc2c1eb01f5e90b1823ac',
  // A choice of skills that was paid and gave none, before the one that did.
  'choice-2026-11.ndjson': 'c6842a7288668203ddac4cf435cf0be1ed8a880374dc73df1666784374efa791',
  // Reserved calls, a lost one, and a budget that was used up and raised.
  'budgets-2026-11.ndjson': '2e23e8d322d93427756e69346cbba2af693bc2e92b3d12c6d0448f8af85f584d',
  // Budgets that tasks share: in the claim, and one of a user that was used up and raised.
  'shared-budgets-2026-11.ndjson': 'c45df21a6d3d99caee0f9a8184bc6c4d355ac3e9f14c9c13b4e1778c4575227b',
  // Embeddings for the choice of skills and for a search, and a choice that was paid and gave none.
  'embeddings-2026-11.ndjson': '4462063c7bbc0b435df20dd3f00c84753e0e59a870b1ec234a33094cb5d8aeb9',
  // Answers that were no summaries, and the note in their place.
  'summaries-2026-11.ndjson': '160e72600dc7db3f1d035c5db929855bd2a736f73f16af78979db7bf14b4e247',
  // Calls of the tools of a client, while the task waited for it.
  'client-2026-11.ndjson': 'b110d73603cb375d5be598d01ca1f0f83afa05d439209ab9e1d1a7d86d687ca3',
  // With the trace in which a client submitted the task.
  'traced-2026-11.ndjson': '071829cb635437f987128a28b93f813690fb1594684fd1f431da037bdf3e89d3',
  // Which tools the model may call after its client answered.
  'client-choice-2026-11.ndjson': 'c0a53d52907ccfda96ddc5f9c52afab7529b3a390c4e917a4ebe0169aaead56a',
  // A run that went nowhere, with its bound.
  'repeats-2026-11.ndjson': '965d30ffd7ff83cccabc632bf29f2b0acbe14d263772585b263ce032a683b40e',
}

type Line =
  | { readonly blob: string; readonly text: string }
  | { readonly log: LogId; readonly entry: readonly WireRecord[] }
const textOf = (file: string): string =>
  readFileSync(new URL(`../../test/golden/${file}`, import.meta.url), 'utf8')
const lines = Object.keys(files).flatMap((file) =>
  textOf(file)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line),
)
const blobs = new Map(lines.flatMap((line) => ('blob' in line ? [[line.blob, line.text] as const] : [])))
const entries = lines.flatMap((line) => ('log' in line ? [line] : []))
const records = entries.flatMap(({ entry }) => entry)
const dataOf = ({ data, dataref }: WireRecord): unknown =>
  dataref === undefined ? data : JSON.parse(blobs.get(dataref.slice('blob:sha256:'.length)) ?? 'null')

/** Every log, as a daemon of this version reads it. */
async function read(): Promise<Map<string, RecordedEvent[]>> {
  const logs = new Map<string, { reader: LogReader; events: RecordedEvent[] }>()
  for (const { log, entry } of entries) {
    const of = logs.get(logKey(log)) ?? {
      reader: new LogReader(log, { get: async (sha256) => Buffer.from(blobs.get(sha256) ?? '') }),
      events: [],
    }
    logs.set(logKey(log), of)
    of.events.push(...(await of.reader.read({ payload: Buffer.from(JSON.stringify(entry)) })))
  }
  return new Map(
    [...logs].map(([, { events }]) => [
      events[0]?.type === 'task_submitted' ? events[0].data.task_id : '',
      events,
    ]),
  )
}

it.each(Object.entries(files))('%s was not edited', (file, sha256) =>
  expect(hash('sha256', textOf(file))).toBe(sha256),
)

it('reads every record and keeps all of its data', async () => {
  const versions = eventVersions()
  const events = [...(await read()).values()].flat()
  expect(events).toHaveLength(records.length)
  const byHash = new Map(events.map((event) => [event.hash, event.data]))
  for (const record of records)
    expect({ type: record.type, data: byHash.get(record.hash) }).toEqual({
      type: record.type,
      data: versions.newest(record.type, dataOf(record)),
    })
})

describe('the golden journals contain', () => {
  it.each(Object.keys(eventData) as EventType[])('%s, with each of its fields', (type) => {
    const ofType = records.filter((record) => eventVersions().eventTypeOf(record.type) === type)
    expect(ofType.length).toBeGreaterThan(0)
    const fields = new Set(
      ofType.flatMap((record) => Object.keys(eventVersions().newest(record.type, dataOf(record)) as object)),
    )
    expect([...fields].toSorted()).toEqual(Object.keys((eventData[type] as ZodObject).shape).toSorted())
  })
})

it('folds the tasks to the recorded states', async () => {
  const told = [...(await read())].map(([task, events]) => {
    const { status, runs, teams } = foldTask(events)
    const nodes = [...teams.values()].flatMap((team) =>
      [...team.nodes].map(([name, node]) => `${name} ${node.status}`),
    )
    return [
      task,
      status,
      [...runs.values()].map((run) => `${run.start.agent_name} ${run.status}`).join(', '),
      nodes.join(', '),
    ]
  })
  expect(told).toEqual([
    ['task-single', 'completed', 'root completed', ''],
    [
      'task-team',
      'incomplete',
      'root completed, gather completed, write completed, check completed',
      'gather completed, check failed, write completed, publish blocked',
    ],
    [
      'task-workflow',
      'incomplete',
      'find completed, stop cancelled, item-1 completed, item-2 completed',
      'split completed, find completed, branch skipped, stop cancelled, tail blocked, end failed, item-1 completed, item-2 completed',
    ],
    ['task-approvals', 'completed', 'root completed', ''],
    ['task-waits', 'running', 'root waiting_for_approval', ''],
    ['task-complete-team', 'completed', 'root completed, one completed', 'one completed'],
    ['task-failed', 'failed', 'root failed', ''],
    ['task-retry', 'cancelled', 'root cancelled', ''],
    ['task-dead', 'failed', '', ''],
    ['task-approvals-by', 'completed', 'root completed', ''],
    [
      'task-workflow-by',
      'incomplete',
      'find completed, stop cancelled, item-1 completed, item-2 completed',
      'split completed, find completed, branch skipped, stop cancelled, tail blocked, end failed, item-1 completed, item-2 completed',
    ],
    ['task-retry-by', 'cancelled', 'root cancelled', ''],
    ['task-labels', 'completed', 'root acting', 'one waiting'],
    ['task-labels-incomplete', 'incomplete', '', ''],
    ['task-labels-failed', 'failed', '', ''],
    ['task-labels-cancelled', 'cancelled', '', ''],
    ['task-approvals-shown', 'completed', 'root completed', ''],
    ['task-delivered', 'completed', 'root completed, writer completed', 'writer completed'],
    ['task-steered', 'completed', 'root completed', ''],
    ['task-outputs', 'running', 'root acting, writer thinking', 'writer running'],
    ['task-evidence-completed', 'completed', 'root completed', ''],
    ['task-evidence-incomplete', 'incomplete', 'root completed', ''],
    ['task-evidence-failed', 'failed', 'root completed', ''],
    ['task-evidence-cancelled', 'cancelled', 'root completed', ''],
    ['task-thoughts', 'completed', 'root completed', ''],
    ['task-left-out', 'completed', 'root completed', ''],
    ['task-caches', 'completed', 'root completed', ''],
    ['task-questions', 'completed', 'root completed', ''],
    ['task-structured', 'completed', 'root completed', ''],
    ['task-structured-incomplete', 'incomplete', 'root completed', ''],
    ['task-structured-failed', 'failed', 'root completed', ''],
    ['task-structured-cancelled', 'cancelled', 'root completed', ''],
    ['task-images', 'completed', 'root completed', ''],
    ['task-values', 'completed', 'root completed', ''],
    ['task-paid', 'failed', 'root failed', ''],
    ['task-choice', 'completed', 'root completed', ''],
    ['task-budget', 'completed', 'root completed', ''],
    ['task-shared', 'completed', 'root completed', ''],
    ['task-embedded', 'completed', 'root completed', ''],
    ['task-summaries.retry-1', 'completed', 'root completed', ''],
    ['task-client', 'completed', 'root completed', ''],
    ['task-traced', 'cancelled', '', ''],
    ['task-client-choice', 'completed', 'root completed', ''],
    ['task-repeats', 'failed', 'root failed', ''],
  ])
})
