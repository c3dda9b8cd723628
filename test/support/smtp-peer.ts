// A mail server that takes the answers of the e-mail channel, and keeps them as it read them.
import { until } from '@beaver/testing'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'

export interface SentMail {
  readonly mail: Email
  readonly to: readonly string[]
  /** The header of this name, as it stands in the mail. */
  header(name: string): string | undefined
}

/**
 * What the server does with a mail: it takes it, refuses it with a code, or ends the connection before or
 * after it kept the mail.
 */
export type SmtpScript = 'take' | 'forget' | 'keep and hang up' | 400 | 450 | 550

export interface SmtpPeer extends AsyncDisposable {
  readonly port: number
  /** Every mail that was kept, also the repeated ones. */
  readonly sent: readonly SentMail[]
  answerBy(script: (mail: Email) => SmtpScript): void
  /** The first mail that answers this Message-ID. */
  answerTo(messageId: string, withinMs?: number): Promise<SentMail>
}

export const smtpUser = { user: 'beaver', password: 'the password' } as const

/**
 * @param options `login`: whether clients have to log in. `answerMs`: how long it takes to say that it has a
 * mail
 */
export async function smtpPeer({
  login = false,
  answerMs = 0,
}: { readonly login?: boolean; readonly answerMs?: number } = {}): Promise<SmtpPeer> {
  const sent: SentMail[] = []
  let script: (mail: Email) => SmtpScript = () => 'take'
  const server = new SMTPServer({
    authOptional: !login,
    // Both ends are this machine.
    disabledCommands: login ? ['STARTTLS'] : ['STARTTLS', 'AUTH'],
    allowInsecureAuth: true,
    disableReverseLookup: true,
    onAuth: ({ username, password }, _session, done) =>
      username === smtpUser.user && password === smtpUser.password
        ? done(null, { user: username })
        : done(new Error('wrong password')),
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        const mail = await PostalMime.parse(Buffer.concat(chunks))
        const what = script(mail)
        const to = session.envelope.rcptTo.map(({ address }) => address)
        const header = (name: string): string | undefined =>
          mail.headers.find(({ key }) => key === name)?.value
        if (what === 'take' || what === 'keep and hang up') sent.push({ mail, to, header })
        if (what === 'take') return void setTimeout(done, answerMs)
        if (typeof what === 'number') return done(Object.assign(new Error('no'), { responseCode: what }))
        for (const connection of server.connections) connection.close()
      })
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.server.address() as { port: number }).port,
    sent,
    answerBy: (given) => void (script = given),
    answerTo: (messageId, withinMs = 40_000) =>
      until(
        `there is an answer to ${messageId}`,
        () => sent.find(({ mail }) => mail.inReplyTo === messageId),
        { withinMs, everyMs: 10 },
      ),
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(resolve))
    },
  }
}
