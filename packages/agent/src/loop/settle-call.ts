// Takes a call of the model to its result: authorise, begin, execute, record. Calls of one answer are settled
// in parallel, as far as their effects allow (call-order.ts). `tool_call_started` is durable before the
// execution, except for a pure tool (pure-calls.ts). An approval is requested once, also across a crash.
// After a crash, a begun call runs again only if it is idempotent by its record and by its tool; otherwise
// its outcome is in doubt. Rules are judged again before a waiting call begins.
import { event } from '@beaver/core'
import type { OpenCall, RunState } from '@beaver/core/fold'
import { failedResult, type ToolResult } from '../tools/execute-tool.ts'
import {
  approvalDenied,
  type Authorisation,
  authorisationEvents,
  authorise,
  authorityOf,
} from './authorise.ts'
import { callKind, callPhases } from './call-order.ts'
import { describedWork } from './described-work.ts'
import type { LoopWork } from './loop-work.ts'
import { makeCall } from './make-call.ts'
import { resultEvent } from './result-event.ts'
import { changedSinceShown, showCall } from './show-call.ts'
import { unlessAborted } from './unless-aborted.ts'

/**
 * The effect of `acting` and `waiting_for_approval`: it takes every call to its result. A call under way is
 * left alone.
 */
export function callSettler(
  work: LoopWork,
  begunBefore: ReadonlySet<string>,
): (run: RunState) => Promise<void> {
  const underWay = new Set<string>()

  return async (run) => {
    const due = run.calls.filter((call) => call.result === null && !underWay.has(call.id))
    for (const { id } of due) underWay.add(id)
    const phases = callPhases(due.map(({ name }) => callKind(work.assembly, name)))
    let [phase, now, before]: [number, Promise<void>[], Promise<unknown>] = [0, [], Promise.resolve()]
    const settled = due.map((call, i) => {
      const own = phases[i] ?? null
      if (own === null) return settle(call, Promise.resolve())
      if (own > phase) [phase, now, before] = [own, [], Promise.allSettled([before, ...now])]
      const ending = settle(call, before)
      now.push(ending)
      return ending
    })
    await Promise.all(settled)
  }

  /** @param turn resolves when the call may begin */
  async function settle(call: OpenCall, turn: Promise<unknown>): Promise<void> {
    const refused = await beginOrRefuse(work, call, { begunBefore: begunBefore.has(call.id), turn })
    const made =
      refused === null
        ? (work.madeAhead.get(call.id) ?? makeCall(work, asItIs(work, call)))
        : [resultEvent(work.start.run_id, call.id, refused, 0)]
    await work.record(await made)
  }
}

interface Begin {
  readonly begunBefore: boolean
  /** Resolves when the call may begin. */
  readonly turn: Promise<unknown>
}

/** Returns `null` if the call may be executed, otherwise the result that it has instead. */
async function beginOrRefuse(
  work: LoopWork,
  call: OpenCall,
  { begunBefore, turn }: Begin,
): Promise<ToolResult | null> {
  if (work.signal.aborted) return cancelled(call)
  if (call.started) return begunBefore ? beginAgain(work, call, turn) : null
  switch (call.approval) {
    case 'requested':
      return approvedOrRefused(work, call, turn)
    case 'granted':
      return begin(work, call, turn)
    case 'denied':
      return approvalDenied(call)
    case null:
      await turn
      return judgeAgain(work, call)
    default:
      return call.approval satisfies never
  }
}

/** A call that had begun in another process. */
async function beginAgain(
  work: LoopWork,
  call: OpenCall,
  turn: Promise<unknown>,
): Promise<ToolResult | null> {
  if (call.approval === 'denied') return approvalDenied(call)
  await turn
  const judged = await judge(work, call)
  if (judged === null) return cancelled(call)
  if (judged.authorisation.kind === 'refuse') return judged.authorisation.result
  if (!call.idempotent || work.assembly.tools.get(call.name)?.idempotent === false) return inDoubt(call)
  if (judged.authorisation.kind !== 'ask' || call.approval === 'granted') return null
  return call.approval === 'requested' ? approvedOrRefused(work, call, turn) : askFirst(work, call, judged)
}

/**
 * No tool had this name when the model called it, or the call waited for others. There may be a tool now, and
 * its rules may be others.
 */
async function judgeAgain(work: LoopWork, call: OpenCall): Promise<ToolResult | null> {
  const judged = work.signal.aborted ? null : await judge(work, call)
  if (judged === null) return cancelled(call)
  switch (judged.authorisation.kind) {
    case 'refuse':
      return judged.authorisation.result
    case 'unknown':
      return null
    case 'ask':
      return askFirst(work, call, judged)
    case 'start': {
      const refused = await reserveToolCall(work, call)
      if (refused !== null) return refused
      await work.record(authorisationEvents(work.start.run_id, call, judged.authorisation))
      return null
    }
    default:
      return judged.authorisation satisfies never
  }
}

interface JudgedCall {
  /** The work by which the call was judged. */
  readonly work: LoopWork
  readonly authorisation: Authorisation
}

/** What the rules say now, about what the call acts on now. `null`: the run was cancelled. */
async function judge(work: LoopWork, call: OpenCall): Promise<JudgedCall | null> {
  const described = await describedWork(work, call)
  if (described === null) return null
  const run = work.run()
  return {
    work: described,
    authorisation: authorise(call, authorityOf({ ...run, taint: run.askedTaint }, described)),
  }
}

async function askFirst(work: LoopWork, call: OpenCall, judged: JudgedCall): Promise<ToolResult | null> {
  const shown = await showCall(judged.work, call, judged.authorisation)
  if (shown.kind === 'refuse') return shown.result
  await work.record(authorisationEvents(work.start.run_id, call, shown))
  return approvedOrRefused(work, call, Promise.resolve())
}

async function approvedOrRefused(
  work: LoopWork,
  call: OpenCall,
  turn: Promise<unknown>,
): Promise<ToolResult | null> {
  const decision = await unlessAborted(work.host.approval(call.id), work.signal)
  if (decision === null) return cancelled(call)
  work.receive(decision.event, decision.taskseq)
  const asked = work.run().calls.find((each) => each.id === call.id) ?? call
  if (decision.event.type === 'approval_denied')
    return approvalDenied({ ...call, denial: decision.event.data })
  return begin(work, asked, turn)
}

/**
 * Begins a call that a person approved. The rules may forbid it by now, and what it acts on may have changed.
 */
async function begin(work: LoopWork, call: OpenCall, turn: Promise<unknown>): Promise<ToolResult | null> {
  await turn
  const judged = work.signal.aborted ? null : await judge(work, call)
  if (judged === null) return cancelled(call)
  if (judged.authorisation.kind === 'refuse') return judged.authorisation.result
  const tool = work.assembly.tools.get(call.name)
  if (tool === undefined) return null
  const changed = await changedSince(work, judged, call)
  if (changed !== null) return changed
  const refused = await reserveToolCall(work, call)
  if (refused !== null) return refused
  await work.record([
    event(
      'tool_call_started',
      { call_id: call.id, tool_name: call.name, idempotent: tool.idempotent },
      work.start.run_id,
    ),
  ])
  return work.signal.aborted ? cancelled(call) : null
}

/** Returns `null` if the call has its place in the budgets. Otherwise the run ends before its next answer. */
async function reserveToolCall(work: LoopWork, call: OpenCall): Promise<ToolResult | null> {
  if (work.spec.budgeted?.toolCalls !== true) return null
  const granted = await work.host.reserve({ kind: 'tool', tool: call.name }, work.signal)
  switch (granted.kind) {
    case 'granted':
      return null
    case 'cancelled':
      return cancelled(call)
    case 'refused':
      work.reservation.refused = granted.failure
      return failedResult(call.name, 'budget_exceeded', granted.failure.message)
    default:
      return granted satisfies never
  }
}

/** The call as the run has it now: a person may have changed its arguments. */
const asItIs = (work: LoopWork, call: OpenCall): OpenCall =>
  work.run().calls.find(({ id }) => id === call.id) ?? call

/**
 * A person who changed the arguments was shown the call of the model, so this one is compared with what was
 * shown.
 */
async function changedSince(work: LoopWork, judged: JudgedCall, call: OpenCall): Promise<ToolResult | null> {
  if (call.edited === null) return changedSinceShown(judged.work, call)
  const shown = { ...call, arguments: call.edited.asked }
  const described = await describedWork(work, shown)
  return described === null ? cancelled(call) : changedSinceShown(described, shown)
}

const cancelled = (call: OpenCall): ToolResult =>
  failedResult(call.name, 'cancelled', 'The run was cancelled.')

const inDoubt = (call: OpenCall): ToolResult =>
  failedResult(
    call.name,
    'in_doubt',
    `${call.name} had begun when its process died. Nobody knows whether it took effect. Check before you call it again.`,
  )
