// The arguments with which an approved call is made instead of those of the model: given on the command line,
// on stdin, or changed in an editor. Only a JSON object is sent, and only if it differs from what the model
// sent. The daemon checks whether it fits the tool. The file that the editor gets is in a folder that only
// this user can read, and it is removed.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import type { AskedCallAnswer } from '@beaver/contracts'
import { BeaverError, messageOf } from '@beaver/core'
import type { Connection } from '../connection.ts'
import { UsageError } from '../failures.ts'

export interface EditedCall {
  readonly taskId: string
  readonly name: string
  readonly call: AskedCallAnswer | null
}

/** `undefined`: the arguments stay as they are. @throws {BeaverError} `invalid_arguments` */
export async function editedArguments(
  connection: Connection,
  of: EditedCall,
  { arguments: given, edit }: { readonly arguments?: string; readonly edit?: true },
): Promise<string | undefined> {
  if (given !== undefined && edit === true) throw new UsageError('Give --arguments or --edit, not both.')
  if (given !== undefined) return objectText(given === '-' ? await textOf(process.stdin) : given)
  if (edit !== true) return undefined
  const asked = await wholeArguments(connection, of)
  const edited = objectText(inEditor(pretty(asked)))
  return JSON.stringify(JSON.parse(edited)) === compact(asked) ? undefined : edited
}

/** The read model may have cut the arguments, so they are read from the journal. */
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
