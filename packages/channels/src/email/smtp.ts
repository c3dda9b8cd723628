// Sends one mail by SMTP, and reports what is known about the outcome. If the server refused the mail, it
// does not have it. If the connection ended after the mail began, the outcome is unknown. The password is
// sent only over TLS, except to this machine; the check of the configuration ensures this.
import type { SMTPEnvelope } from 'nodemailer/lib/smtp-connection'
import type { Sent } from '../channel.ts'

export interface MailServer {
  readonly host: string
  readonly port: number
  readonly tls: 'implicit' | 'starttls' | 'none'
  readonly user?: string | undefined
  readonly password?: string | null | undefined
}

export interface MailToSend {
  readonly envelope: SMTPEnvelope
  readonly content: Buffer
}

interface SmtpError extends Error {
  readonly responseCode?: number | undefined
}

/**
 * Sends a mail. It ends soon after `signal` aborts, and never rejects.
 *
 * @param mail `null`: it only logs in
 */
export async function sendMail(
  mail: MailToSend | null,
  server: MailServer,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<Sent> {
  const { default: SMTPConnection } = await import('nodemailer/lib/smtp-connection')
  const { host, port, tls, user, password } = server
  const connection = new SMTPConnection({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
  })
  let [begun, ended] = [false, false]
  return new Promise<Sent>((resolve) => {
    const end = (outcome: Sent): void => {
      // Closing the connection calls this function again.
      if (ended) return
      ended = true
      signal.removeEventListener('abort', stopped)
      resolve(outcome)
      if (outcome.kind === 'sent') connection.quit()
      else connection.close()
    }
    const failed = (error: SmtpError): void => end(outcomeOf(error, { host, begun }))
    const stopped = (): void => end({ kind: 'later', reason: 'The gateway stopped.', unknown: begun })
    connection.on('error', failed)
    connection.on('end', () => failed(new Error('The connection ended.')))
    signal.addEventListener('abort', stopped, { once: true })
    if (signal.aborted) return stopped()
    const send = (): void => {
      if (mail === null) return end({ kind: 'sent' })
      begun = true
      connection.send(mail.envelope, mail.content, (error) =>
        error === null ? end({ kind: 'sent' }) : failed(error),
      )
    }
    connection.connect((error) => {
      if (error !== undefined) failed(error)
      else if (user === undefined) send()
      else
        connection.login({ user, pass: password ?? '' }, (refusal) =>
          refusal === null ? send() : failed(refusal),
        )
    })
  })
}

/**
 * The outcome for an error. A refused login may be an error in the configuration, so it is `later` and not
 * `never`.
 */
function outcomeOf(
  { message, responseCode }: SmtpError,
  { host, begun }: { host: string; begun: boolean },
): Sent {
  if (!begun) return { kind: 'later', reason: `${host} cannot be used: ${message}` }
  if (responseCode === undefined || responseCode < 400)
    return {
      kind: 'later',
      reason: `${host} did not say whether it took the mail: ${message}`,
      unknown: true,
    }
  const reason = `${host} refused the mail: ${message}`
  return responseCode >= 500 ? { kind: 'never', reason } : { kind: 'later', reason }
}
