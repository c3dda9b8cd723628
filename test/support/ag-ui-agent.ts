// A client of AG-UI that keeps what it was told, and words for it.
import { HttpAgent, type RunAgentResult } from '@ag-ui/client'
import { type AGUIEvent, EventType, type Interrupt, type Message } from '@ag-ui/core'
import { EventSchemas } from '@ag-ui/core/schemas'
import type { ProtocolScene } from './protocol-scene.ts'

export type Who = keyof ProtocolScene['tokens']
export interface Place {
  readonly who?: Who
  readonly agent?: string
  readonly at?: string
  readonly threadId?: string
}

let ids = 0
export const fresh = (what: string): string => `${what}-${++ids}`

export function agUiAgent(
  scene: ProtocolScene,
  { who = 'ann', agent = 'beaver', at = scene.gateway.info.url, threadId = fresh('thread') }: Place = {},
): HttpAgent {
  const headers = { authorization: `Bearer ${scene.tokens[who]}` }
  const url = `${at}/ag-ui/${encodeURIComponent(agent)}`
  return new HttpAgent({ url, headers, threadId, fetch: fetchToCut })
}

/**
 * The client cancels a stream that broke off. Such a call always rejects, and the client handles only aborts, so
 * the rejection would end the process.
 */
async function fetchToCut(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  const reader = response.ok ? response.body?.getReader() : undefined
  if (reader === undefined) return response
  const read = () => reader.read()
  const cancel = (reason: unknown) => reader.cancel(reason).catch(() => {})
  return Object.defineProperty(response, 'body', { value: { getReader: () => ({ read, cancel }) } })
}

export interface Ran extends RunAgentResult {
  readonly events: readonly AGUIEvent[]
}

type Wanted = Parameters<HttpAgent['runAgent']>[0]

/** Runs the agent, and keeps every event as it came. */
export async function ran(agent: HttpAgent, said: string | null, wanted: Wanted = {}): Promise<Ran> {
  if (said !== null) agent.addMessage({ id: fresh('user'), role: 'user', content: said })
  const events: AGUIEvent[] = []
  const result = await agent.runAgent(wanted, {
    onEvent: ({ event }) => void events.push(EventSchemas.parse(event) as AGUIEvent),
  })
  return { ...result, events }
}

export const types = (events: readonly AGUIEvent[]): string[] => events.map(({ type }) => type)
export const textIn = (events: readonly AGUIEvent[]): string =>
  events.map((event) => (event.type === EventType.TEXT_MESSAGE_CONTENT ? event.delta : '')).join('')
export const lastOf = ({ events }: Ran): AGUIEvent => events.at(-1) as AGUIEvent
export const interruptsOf = (last: AGUIEvent): Interrupt[] =>
  last.type === EventType.RUN_FINISHED && last.outcome?.type === 'interrupt' ? last.outcome.interrupts : []
export const taskOf = ([first]: readonly AGUIEvent[]): string =>
  (first?.metadata?.['beaver'] as { task_id: string } | undefined)?.task_id ?? ''
export const contents = (messages: readonly Message[]): string[] =>
  messages.map(({ role, content }) => `${role}: ${typeof content === 'string' ? content : ''}`)
