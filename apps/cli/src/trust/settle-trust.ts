// Asks the person at this terminal whether a folder may have what it asks for. Everything that the person
// would accept is on the screen before the question. Only an explicit answer counts: an empty line means no.
// After a no, or without a terminal, the command ends. The question goes to stderr, so that stdout has only
// the output of the command.
import type { Readable } from 'node:stream'
import { type FolderTrust, requireTrust, trustFolder, trustLines } from '@beaver/platform'
import { discardTyped, readLine } from '../follow/read-line.ts'

/** The terminal at which a person can answer. */
export interface TrustTerminal {
  readonly input: Readable
  write(text: string): void
}

/** How long typed text is discarded before the question, in milliseconds: it is not an answer. */
const settleMs = 150

/**
 * Asks for the decision, and stores consent. Returns the option with which the configuration must be read
 * again: `{}` after consent, `{ trust: false }` if the person wants to continue without these settings.
 *
 * @param terminal `null`: nobody can answer
 * @param store the folder of the user's trust store
 * @throws {BeaverError} `untrusted_folder` without consent
 */
export async function settleTrust(
  trust: FolderTrust,
  terminal: TrustTerminal | null,
  store: string,
): Promise<{ readonly trust?: false }> {
  if (terminal === null || trust.folder === null) return refuse(trust)
  const { signal } = new AbortController()
  terminal.write(`${trustLines(trust, Infinity).join('\n')}\n`)
  await discardTyped(terminal.input, settleMs, signal)
  const until = trust.digest === null ? '' : '[y] yes, until it changes   '
  terminal.write(`Trust this folder?  ${until}[a] always   [w] go on without these settings   [N] no  `)
  const answer = (await readLine(terminal.input, signal)).line?.trim().toLowerCase() ?? ''
  const agreed = { digest: trust.digest, now: new Date().toISOString() }
  if (answer === 'w') return { trust: false }
  if (answer === 'a') trustFolder(store, trust.folder, { ...agreed, always: true })
  else if (/^y(es)?$/.test(answer) && trust.digest !== null)
    trustFolder(store, trust.folder, { ...agreed, always: false })
  else return refuse(trust)
  return {}
}

function refuse(trust: FolderTrust): never {
  requireTrust(trust)
  throw new Error('The folder waits for no decision.')
}
