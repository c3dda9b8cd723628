// A network that a test plays: what it writes is received, and what it is sent is kept.
import type { Channel, Receive, Received, Sent } from '@beaver/channels'
import type { OutboundMessage } from '@beaver/contracts'
import { until } from '@beaver/testing'

let channels = 0

export class PlayedChannel implements Channel {
  readonly name = `played${++channels}`
  readonly sent: OutboundMessage[] = []
  receive: Receive = () => Promise.reject(new Error('It is not started.'))
  unkeyed?: true
  shownWork?: NonNullable<Channel['shownWork']>
  outcome: (message: OutboundMessage, again: boolean) => Promise<Sent> = async () => ({ kind: 'sent' })

  async start(receive: Receive): Promise<void> {
    this.receive = receive
  }
  async send(message: OutboundMessage, _signal: AbortSignal, again: boolean): Promise<Sent> {
    const outcome = await this.outcome(message, again)
    if (outcome.kind === 'sent') this.sent.push(message)
    return outcome
  }
  async stop(): Promise<void> {}

  write(message_id: string, text: string, over: Partial<Received> = {}): ReturnType<Receive> {
    return this.receive({ chat_id: 'c', message_id, user: 'Ada', text, ...over })
  }
  answerTo(message_id: string): Promise<OutboundMessage> {
    return until(
      `there is an answer to ${message_id}`,
      () =>
        this.sent.find(
          (each) => each.in_reply_to === message_id && each.kind !== 'approval' && each.kind !== 'question',
        ),
      {
        withinMs: 40_000,
        everyMs: 10,
      },
    )
  }
}
