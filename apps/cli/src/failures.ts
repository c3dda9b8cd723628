// Turns anything that was thrown into a message for a person and an exit code for the shell. This file loads
// nothing else, so that help and usage errors are quick. stderr gets a clear sentence and no stack trace,
// except with BEAVER_DEBUG=1. With --json, stdout also gets the error as one line of JSON.

/** The error as it is printed. `exit` is the exit code. */
export interface FailureReport {
  readonly code: string
  readonly message: string
  readonly problems: readonly { readonly path: string; readonly message: string }[]
  readonly exit: number
}

/** Wrong usage of the command line. */
export class UsageError extends Error {
  readonly code = 'invalid_arguments'
}

/** The report of anything that was thrown. */
export async function reportOf(error: unknown): Promise<FailureReport> {
  if (error instanceof UsageError) return { code: error.code, message: error.message, problems: [], exit: 2 }
  const { BeaverError, errorCodes, messageOf } = await import('@beaver/core')
  if (error instanceof BeaverError)
    return {
      code: error.code,
      message: error.message,
      problems: error.problems,
      exit: errorCodes[error.code].exit,
    }
  if (isOfFileSystem(error))
    return {
      code: 'wrong_state',
      message: `A file cannot be used: ${error.message}. Look at this path: what kind of file each part of it is, who may read and write there, and whether the disk has room.`,
      problems: [],
      exit: errorCodes.wrong_state.exit,
    }
  return {
    code: 'internal',
    message: `Beaver has a defect: ${messageOf(error)} (set BEAVER_DEBUG=1 to see where)`,
    problems: [],
    exit: 1,
  }
}

/** Whether the system refuses a path. A person can put this right, so it is no defect. */
const isOfFileSystem = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error &&
  'errno' in error &&
  'path' in error &&
  'syscall' in error &&
  !String(error.syscall).startsWith('spawn')

/** The lines for stderr. Problems are listed if there are several and the message does not name them all. */
export function linesOf({ message, problems }: FailureReport): string[] {
  const unnamed = problems.filter((problem) => !message.includes(problem.message))
  const listed =
    problems.length > 1 && unnamed.length > 0
      ? problems.map((problem) => `  ${problem.path === '' ? '' : `${problem.path}: `}${problem.message}`)
      : []
  return [message, ...listed]
}
