// `beaver approve` and `beaver deny`: decide about a call that waits for a person. When the command ends, the
// decision is in the journal. The user names the call by its id or the beginning of its id, or not at all if
// only one call waits. An ambiguous name is refused.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import type { AskedCallAnswer, QueryOutput } from '@beaver/contracts'
import { BeaverError, messageOf, shellWord, visible } from '@beaver/core'
import { isDecision } from '@beaver/core/question'
import { spawnSync } from '@beaver/platform/programs'
import { commandName } from '../command-name.ts'
import { connect, type Connection } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import type { Screen } from '../screen.ts'
import { findSystem } from '../system/find-system.ts'
import { briefIds } from '../text/brief-ids.ts'
import { bytes, counted, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import { warnOfChangedRows } from '../view/changed-rows.ts'
import { nameOf, previewLines, whatIsAsked } from '../view/render-asked.ts'
import { alreadySettledIn, askedInTask, findTask } from './find-task.ts'

export interface DecisionOptions {
  readonly reason?: string
  /** The arguments that replace those of the call, as JSON; `-` reads them from stdin. */
  readonly arguments?: string
  /** Whether the user changes the arguments in an editor. Default: false. */
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

/** The calls that wait, according to the projector. */
const waitingIn = ({ client }: Connection, task?: string): Promise<QueryOutput<'approvals'>> =>
  client.query('approvals', { task_id: task, limit: listMax })

/**
 * Finds the call that the user means. An unknown name is passed to the daemon as it was typed, because the
 * projector may be behind.
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

/** The calls that the typed name fits. `exact` says that the name is a whole id. */
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

/** The table of the calls that wait. `now` is in milliseconds since 1970. */
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

// The arguments that replace those of the model in an approved call. They come from the command line, from
// stdin or from an editor. They must be a JSON object, and are sent only if they differ from those of the
// model; the daemon checks whether they fit the tool. The file for the editor is in a folder that only this
// user can read, and is removed afterwards.

interface EditedCall {
  readonly taskId: string
  readonly name: string
  readonly call: AskedCallAnswer | null
}

/**
 * Reads the changed arguments as JSON; `undefined` if the arguments stay as they are.
 *
 * @throws {BeaverError} `invalid_arguments`
 */
export async function editedArguments(
  connection: Connection,
  call: EditedCall,
  { arguments: given, edit }: { readonly arguments?: string; readonly edit?: true },
): Promise<string | undefined> {
  if (given !== undefined && edit === true) throw new UsageError('Give --arguments or --edit, not both.')
  if (given !== undefined) return objectText(given === '-' ? await textOf(process.stdin) : given)
  if (edit !== true) return undefined
  const asked = await wholeArguments(connection, call)
  const edited = objectText(inEditor(pretty(asked)))
  return JSON.stringify(JSON.parse(edited)) === compact(asked) ? undefined : edited
}

/** Reads the arguments from the journal, because the read model may have cut them. */
async function wholeArguments({ client }: Connection, { taskId, name, call }: EditedCall): Promise<string> {
  let found: string | null = null
  for await (const { type, runId, data } of client.events(taskId)) {
    const calls =
      type === 'assistant_message_added' ? data.tool_calls : type === 'tool_call_requested' ? [data.call] : []
    if (call !== null && runId !== call.run_id) continue
    found = calls.find(({ id }) => id === (call?.call_id ?? name))?.arguments ?? found
  }
  if (found === null)
    throw new BeaverError('not_found', `The journal has no call ${name} of the task ${taskId}.`)
  return found
}

function inEditor(text: string): string {
  const editor = process.env['VISUAL'] || process.env['EDITOR'] || 'vi'
  const folder = mkdtempSync(join(tmpdir(), 'beaver-edit-'))
  const file = join(folder, 'arguments.json')
  try {
    writeFileSync(file, text, { mode: 0o600 })
    const { status, error } = spawnSync('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
    if (error !== undefined || status !== 0)
      throw new BeaverError(
        'invalid_arguments',
        `The editor ${editor} did not end well. Nothing was decided.`,
      )
    return readFileSync(file, 'utf8')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function objectText(text: string): string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new BeaverError(
      'invalid_arguments',
      `The arguments are not JSON: ${messageOf(cause)}. Nothing was decided.`,
      { cause },
    )
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new BeaverError('invalid_arguments', 'The arguments are no JSON object. Nothing was decided.')
  return JSON.stringify(value)
}

function pretty(text: string): string {
  try {
    return `${JSON.stringify(JSON.parse(text), null, 2)}\n`
  } catch {
    return text
  }
}

function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}
