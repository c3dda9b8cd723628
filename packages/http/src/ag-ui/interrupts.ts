// Calls that wait for a person, as interrupts of a run, and the answers to them.
// N1. The id of an interrupt says which call it is about, of which task, and where in its log the run stopped. So the run that resumes goes on there,
//     although nothing was stored.
// N2. An answer is a decision. It needs the role `approve`, and it is about the call as it was shown. Who resumes a run that somebody else began needs
//     the role `read`, too.
import type { Interrupt } from '@ag-ui/core'
import { createHash } from 'node:crypto'
import { BeaverError } from '@beaver/core'
import { z } from 'zod'
import { type Caller, hasRole, reaches, mustHave } from '../access.ts'
import { agentOf } from '../agents.ts'
import type { TaskHost } from '../host.ts'
import { type AskedCall, readProgress, type TaskProgress } from '../task-progress.ts'
import { invalid, type RunInput, sourceOf, tellsId } from './run-input.ts'

const responseSchema = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string', description: 'Why the call is refused. The model reads it.' } },
  required: ['approved'],
}

const keyOf = ({ runId, asked: { call_id, call_hash } }: AskedCall): string =>
  createHash('sha256')
    .update(JSON.stringify([runId ?? null, call_id, call_hash ?? null]))
    .digest('hex')
    .slice(0, 32)

/** What is known of a task when a run is asked for. A run does not stop for calls that have been decided since they asked. */
export interface Known {
  /** How much of the log was read. 0: nothing. */
  readonly taskseq: number
  /** The calls that waited then. */
  readonly waiting: ReadonlySet<string>
  /** The calls that the run answers. */
  readonly answered: ReadonlySet<string>
}

export const nothingKnown: Known = { taskseq: 0, waiting: new Set(), answered: new Set() }

export const knownOf = ({ taskseq, waiting }: TaskProgress, answered: readonly string[] = []): Known => ({
  taskseq,
  waiting: new Set(waiting.map(keyOf)),
  answered: new Set(answered),
})

/** The calls that wait for an answer at a place in the log, and that nobody has answered so far. */
export const unanswered = ({ taskseq, waiting }: TaskProgress, known: Known): readonly AskedCall[] =>
  waiting.filter((call) => !known.answered.has(keyOf(call)) && (taskseq > known.taskseq || known.waiting.has(keyOf(call))))

/** What a run asks that stops at the newest event of the task. */
export function interruptsOf(calls: readonly AskedCall[], progress: TaskProgress, caller: Caller): Interrupt[] {
  const taskId = progress.submitted?.task_id ?? ''
  return calls.map((call) => {
    const { tool_name: tool, subject, reason, preview } = call.asked
    const index = call.runId === progress.root ? progress.output.items.findLastIndex((item) => item.kind === 'call' && item.callId === call.asked.call_id) : -1
    const shown = hasRole(caller, 'read') || hasRole(caller, 'approve') ? { preview } : {}
    const about = { task_id: taskId, tool, subject, ...(reason === undefined ? {} : { reason }), ...shown }
    return {
      id: `${progress.taskseq}.${keyOf(call)}.${taskId}`,
      reason: 'tool_call',
      message: `An agent asks to call ${tool}: ${subject}`,
      ...(index === -1 ? {} : { toolCallId: tellsId(taskId, String(index)) }),
      responseSchema,
      metadata: { beaver: about },
    }
  })
}

/** The task that goes on, and the place in its log where the run before stopped. */
export interface Resumed {
  readonly taskId: string
  readonly after: number
  readonly known: Known
}

interface Answer extends Omit<Resumed, 'known'> {
  readonly key: string
  readonly approved: boolean
  readonly reason: string | undefined
}

const payload = z.union([
  z.boolean().transform((approved) => ({ approved, reason: undefined })),
  z.object({ approved: z.boolean(), reason: z.string().max(1_000).optional() }),
])

function answersOf({ resume = [] }: RunInput): Answer[] {
  return resume.flatMap(({ interruptId, status, payload: given }, i) => {
    const [, after, key = '', taskId = ''] = /^(\d{1,15})\.([0-9a-f]{32})\.(.{1,128})$/s.exec(interruptId) ?? []
    if (after === undefined) return []
    if (status === 'cancelled') return [{ taskId, key, after: Number(after), approved: false, reason: 'The user did not answer.' }]
    const read = payload.safeParse(given)
    if (!read.success) throw invalid(`resume.${i}.payload`, 'must be {"approved": true}, or {"approved": false, "reason": "…"}')
    return [{ taskId, key, after: Number(after), approved: read.data.approved, reason: read.data.reason }]
  })
}

interface Asker {
  readonly host: TaskHost
  readonly caller: Caller
  readonly agent: string
}

/**
 * Makes the decisions of a run that resumes. Answers about nothing that this caller was asked are left out, as the specification wants, and so are those
 * about calls that were decided meanwhile.
 *
 * @returns `null`: the run resumes no task
 * @throws {HttpProblem} `invalid_arguments`, `not_allowed`
 */
export async function resumed(input: RunInput, { host, caller, agent }: Asker): Promise<Resumed | null> {
  const answers = answersOf(input)
  const [first] = answers
  if (first === undefined) return null
  const { taskId } = first
  const seen = await readProgress(
    host.client().events(taskId),
    ({ request, session_id }) => session_id === input.threadId && agentOf(request) === agent && reaches(caller, request.user_id),
  )
  if (seen === null) return null
  mustHave(caller, 'approve')
  if (seen.submitted.request.source !== sourceOf(caller)) mustHave(caller, 'read')
  const given = answers.filter((each) => each.taskId === taskId)
  for (const { key, approved, reason } of given) {
    const call = seen.progress.waiting.find((each) => keyOf(each) === key)
    if (call !== undefined) await decide({ taskId, call, approved, reason }, { host, caller })
  }
  const keys = given.map(({ key }) => key)
  return { taskId, after: Math.min(...given.map(({ after }) => after)), known: knownOf(seen.progress, keys) }
}

interface Decided extends Pick<Answer, 'taskId' | 'approved' | 'reason'> {
  readonly call: AskedCall
}

async function decide({ taskId, call: { runId, asked }, approved, reason }: Decided, { host, caller }: Pick<Asker, 'host' | 'caller'>): Promise<void> {
  const callId = runId === undefined ? asked.call_id : `${runId}/${asked.call_id}`
  try {
    await host.client().decide(taskId, { callId, callHash: asked.call_hash, approved, reason, userId: caller.userId })
  } catch (error) {
    if (!(error instanceof BeaverError && error.code === 'conflict')) throw error
  }
}
