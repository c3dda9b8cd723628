// The one error class of Beaver and the table of its codes, which docs/reference/errors.md mirrors. An
// expected outcome is a returned value; a BeaverError is a failure that a person or a supervisor must handle.

/** Every code with its meaning. `exit` is the exit code of the command line. */
export const errorCodes = {
  invalid_arguments: { exit: 2, meaning: 'The input does not have the required shape' },
  invalid_configuration: { exit: 2, meaning: 'The configuration does not have the required shape' },
  untrusted_folder: {
    exit: 2,
    meaning: 'The configuration of the folder asks for things that nobody agreed to',
  },
  workspace_missing: { exit: 2, meaning: 'The workspace folder does not exist or is not a folder' },
  workspace_refused: {
    exit: 2,
    meaning: 'The workspace folder is outside the roots of the configuration, or a folder of the system',
  },
  unknown_skill: { exit: 2, meaning: 'No skill with this name is loaded' },
  unknown_workflow: { exit: 2, meaning: 'No workflow with this name exists' },
  unknown_profile: { exit: 2, meaning: 'No profile with this name is loaded' },
  unknown_tool: { exit: 2, meaning: 'No tool with this id exists' },
  not_found: { exit: 1, meaning: 'The task, run or file does not exist' },
  not_allowed: { exit: 1, meaning: 'The identity of the caller may not do this' },
  conflict: { exit: 1, meaning: 'Another request was first' },
  unreachable: { exit: 3, meaning: 'The system cannot be reached' },
  no_daemon: { exit: 3, meaning: 'No daemon answers' },
  server_too_old: { exit: 3, meaning: 'The nats-server is older than Beaver needs' },
  server_missing: { exit: 3, meaning: 'No nats-server was found' },
  package_missing: { exit: 3, meaning: 'A package that Beaver needs for this is not installed' },
  start_failed: { exit: 3, meaning: 'A part of the system did not start' },
  timeout: { exit: 3, meaning: 'No answer came in time' },
  too_large: { exit: 1, meaning: 'A request or an answer is larger than the limit of a message' },
  output_invalid: { exit: 1, meaning: 'The answer of a task does not pass a check of its zod type' },
  fenced: { exit: 1, meaning: 'Another daemon owns the task now' },
  corrupt_journal: { exit: 1, meaning: 'A journal entry does not fit the one before it' },
  untrusted_record: { exit: 1, meaning: 'A journal entry is not signed by a key that the operator trusts' },
  key_untrusted: {
    exit: 3,
    meaning: 'The operator of the journal does not trust the key of this process or home',
  },
  operator_changed: {
    exit: 3,
    meaning: 'The journal has another operator than the one that this home knows',
  },
  blob_missing: { exit: 1, meaning: 'A blob to which the journal refers is not in the blob store' },
  blob_corrupt: { exit: 1, meaning: 'A blob in the blob store does not have the content that its name says' },
  stream_missing: { exit: 3, meaning: 'The journal stream does not exist' },
  stream_recreated: { exit: 1, meaning: 'The read model was built from another journal stream' },
  journal_changed: {
    exit: 1,
    meaning: 'The journal is not as this process saw it before. Beaver writes nothing to it',
  },
  memory_corrupt: {
    exit: 1,
    meaning: 'A value in the memory store cannot be read. Beaver did not change it',
  },
  budget_corrupt: {
    exit: 1,
    meaning: 'The account of a budget cannot be read. Beaver did not change it',
  },
  login_failed: { exit: 1, meaning: 'The login at an MCP server failed' },
  wrong_state: { exit: 1, meaning: 'The operation is not possible in the present state' },
  internal: { exit: 1, meaning: 'An invariant is broken. This is a defect in Beaver' },
} as const satisfies Record<string, { exit: number; meaning: string }>

/** A code of the table. Programs compare codes, never messages. */
export type ErrorCode = keyof typeof errorCodes

/** A problem at one place of an input. `path` has dots between its parts; it is `''` for the whole input. */
export interface Problem {
  readonly path: string
  readonly message: string
  /** A code of the problem itself. Only problems of a workflow's arguments have one (D-38). */
  readonly code?: string | undefined
}

/**
 * A failure with a code. `message` is for people; `problems` lists the faults of an input and is empty for
 * other failures.
 *
 * @example
 * const error = new BeaverError('not_found', 'There is no task task_1.')
 * error.code // => 'not_found'
 * error.message // => 'There is no task task_1.'
 */
export class BeaverError extends Error {
  readonly code: ErrorCode
  readonly problems: readonly Problem[]

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; problems?: readonly Problem[] } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'BeaverError'
    this.code = code
    this.problems = options.problems ?? []
  }
}

/**
 * The message of any thrown value, for people.
 *
 * @example
 * messageOf(new Error('It is closed.')) // => 'It is closed.'
 * messageOf('It is closed.') // => 'It is closed.'
 */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Asserts an invariant. A broken invariant crashes the actor that found it, and the supervisor of the actor
 * decides what happens next.
 *
 * @throws {BeaverError} `internal` if the condition is false
 * @example
 * const places: number = 2
 * invariant(places > 0, 'There is no place.')
 * invariant(places > 2, 'There are too few places.') // throws internal
 */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new BeaverError('internal', message)
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'you may not read it',
  EPERM: 'you may not read it',
}

/**
 * Says why a file cannot be read, for the end of a sentence that names the file.
 *
 * @param cause what Node threw
 * @example
 * whyUnreadable(Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' })) // => 'there is no such file'
 * whyUnreadable(new Error('the disk is broken')) // => 'the disk is broken'
 */
export function whyUnreadable(cause: unknown): string {
  return unreadable[(cause as { code?: string } | null)?.code ?? ''] ?? messageOf(cause)
}
