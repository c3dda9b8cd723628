// `beaver approve` and `beaver deny`: decide about a call that waits for a person. The decision is in the
// journal when the command ends. A call is named by its id or by the beginning of its id. If only one call
// waits, no name is needed. An ambiguous name is refused.
import type { AskedCallAnswer, QueryOutput } from '@beaver/contracts'
import { BeaverError, isDecision, visible } from '@beaver/core'
import { commandName } from '../command-name.ts'
import { type Connection, connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { findSystem } from '../system/find-system.ts'
import { bytes, counted, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { shellWord } from '../text/shell-word.ts'
import { briefIds } from '../text/brief-ids.ts'
import { table } from '../text/table.ts'
import { warnOfChangedRows } from '../view/changed-rows.ts'
import { nameOf, previewLines, whatIsAsked } from '../view/render-asked.ts'
import { editedArguments } from './edit-arguments.ts'
import { alreadySettledIn, askedInTask, findTask } from './find-task.ts'

export interface DecisionOptions {
  readonly reason?: string
  /** The arguments with which the call is made instead, as JSON; `-` for stdin. */
  readonly arguments?: string
  /** Whether the arguments are changed in an editor. */
  readonly edit?: true
  readonly json?: true
}

export const approve = (
  task: string | undefined,
  call: string | undefined,
  options: DecisionOptions,
  globals: GlobalOptions,
): Promise<number> => decide(task, call, { ...options, approved: true }, globals)

export const deny = (
  task: string | undefined,
  call: string | undefined,
  options: DecisionOptions,
  globals: GlobalOptions,
): Promise<number> => decide(task, call, { ...options, approved: false }, globals)

async function decide(
  typedTask: string | undefined,
  typedCall: string | undefined,
  options: DecisionOptions & { readonly approved: boolean },
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config))
  if (typedTask === undefined) return await list(connection, screen, options)
  const { taskId } = await findTask(connection, typedTask)
  const { name, call } = await callOf(connection, taskId, typedCall)
  const { approved, reason = '' } = options
  const by = connection.subjects.caller
  const args = await editedArguments(connection, { taskId, name, call }, options)
  await connection.client.decide(taskId, {
    callId: name,
    callHash: call?.call_hash ?? undefined,
    approved,
    reason,
    arguments: args,
  })
  if (options.json === true)
    screen.json({
      task_id: taskId,
      call_id: name,
      approved,
      by,
      reason: approved ? null : reason,
      ...(args === undefined ? {} : { arguments: args }),
    })
  else
    screen.print(
      args !== undefined && call !== null
        ? `Allowed with other arguments: ${oneLine(call.tool)} (${taskId})`
        : `${approved ? 'Allowed' : 'Refused'}: ${call === null ? `the call ${oneLine(name)}` : whatIsAsked(call)} (${taskId})`,
      ...(args === undefined
        ? []
        : [`It is called with: ${oneLine(visible(args, '\n\t\r'), shownCharsMax)}`]),
      ...(call === null || args !== undefined
        ? []
        : previewLines({ callHash: call.call_hash, preview: call.preview }, screen)),
    )
  return 0
}

const shownCharsMax = 2_000
const listMax = 200

/** The calls that wait, as the projector knows them. */
const waitingIn = ({ client }: Connection, task?: string): Promise<QueryOutput<'approvals'>> =>
  client.query('approvals', { task_id: task, limit: listMax })

/**
 * The name of the call for the daemon. An unknown name is passed on as it was typed, because the daemon knows
 * more.
 */
async function callOf(
  connection: Connection,
  taskId: string,
  typed: string | undefined,
): Promise<{ name: string; call: AskedCallAnswer | null }> {
  const answer = await askedInTask(connection, taskId, {
    what: 'call',
    named: typed,
    ask: () => waitingIn(connection, taskId),
    isEmpty: ({ calls }) => calls.length === 0,
  })
  const { found, exact } = chooseCall(answer?.calls ?? [], typed)
  const [only] = found
  if (only !== undefined && found.length === 1)
    return { name: nameOfCall(only, answer?.calls ?? []), call: only }
  if (found.length > 1) throw several(taskId, found, exact)
  if (typed !== undefined) return { name: typed, call: null }
  if (answer === null)
    throw new BeaverError(
      'not_found',
      `No task ${JSON.stringify(taskId)} is known here. "${commandName()} approve" lists the calls that wait. If no projector runs, name the call too.`,
    )
  throw (
    (await alreadySettledIn(connection, taskId, isDecision)) ??
    new BeaverError('not_found', `No call of the task ${taskId} waits for an approval.`)
  )
}

/** The calls that the name may mean. `exact`: the name is a whole id. */
export function chooseCall(
  calls: readonly AskedCallAnswer[],
  typed: string | undefined,
): { readonly found: readonly AskedCallAnswer[]; readonly exact: boolean } {
  if (typed === undefined) return { found: calls, exact: false }
  const whole = calls.filter((call) => typed === call.call_id || typed === `${call.run_id}/${call.call_id}`)
  return whole.length > 0
    ? { found: whole, exact: true }
    : { found: calls.filter((call) => call.call_id.startsWith(typed)), exact: false }
}

function several(taskId: string, found: readonly AskedCallAnswer[], exact: boolean): BeaverError {
  const problems = found.map((call) => ({
    path: nameOfCall(call, found),
    message: `${oneLine(call.agent_name ?? 'an agent')} asks to call ${whatIsAsked(call)}`,
  }))
  const which = exact ? 'Name the run too.' : 'Say which one.'
  return new BeaverError(
    'invalid_arguments',
    `${counted(found.length, 'call')} of the task ${taskId} wait for an approval. ${which}`,
    { problems },
  )
}

const nameOfCall = (call: AskedCallAnswer, among: readonly AskedCallAnswer[]): string =>
  nameOf(
    { runId: call.run_id ?? '', callId: call.call_id },
    among.map((each) => ({ callId: each.call_id })),
  )

async function list(
  connection: Connection,
  screen: Screen,
  { json, approved }: { json?: true; approved: boolean },
): Promise<number> {
  const answer = await waitingIn(connection)
  const { calls, more } = answer
  if (json === true) screen.json({ calls, more })
  else if (calls.length === 0) screen.print('No call waits for an approval.')
  else {
    const command = `${commandName()} ${approved ? 'approve' : 'deny'}`
    const rows = waitingTable(calls, screen, Date.now())
    const cut = calls.find((call, i) => rows[i + 1]?.endsWith(whatIsAsked(call)) === false)
    screen.print(
      ...rows,
      '',
      ...(cut === undefined ? [] : [`See one whole: ${commandName()} show ${shellWord(cut.task_id)}`]),
      `Answer one: ${command} ${shellWord(calls[0]?.task_id ?? '')} ${shellWord(calls[0]?.call_id ?? '')}`,
    )
    if (more) screen.print(screen.style.dim('There are more.'))
  }
  await warnOfChangedRows(connection, screen)
  return 0
}

export function waitingTable(
  calls: readonly AskedCallAnswer[],
  screen: Pick<Screen, 'columns' | 'style'>,
  now: number,
): string[] {
  const brief = briefIds(calls.map((call) => call.task_id))
  return table<AskedCallAnswer>(
    [
      { title: 'TASK', cell: (call) => oneLine(call.task_id), brief: (call) => oneLine(brief(call.task_id)) },
      { title: 'CALL', cell: (call) => oneLine(call.call_id), paint: screen.style.cyan },
      {
        title: 'SINCE',
        cell: (call) => (call.requested_at === null ? '' : moment(call.requested_at, now)),
        optional: 2,
      },
      { title: 'AGENT', cell: (call) => oneLine(call.agent_name ?? ''), optional: 1 },
      {
        title: 'EFFECT',
        cell: (call) =>
          call.preview === null ? '' : `${oneLine(call.preview.effect)} ${bytes(call.preview.bytes)}`,
        optional: 3,
      },
      { title: 'WANTS TO CALL', cell: (call) => whatIsAsked(call), flexible: true },
    ],
    calls,
    { width: screen.columns, title: screen.style.dim },
  )
}
