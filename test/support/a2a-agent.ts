// A client of A2A, the official one, and words for what it is told.
import {
  type Message,
  Role,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
  TaskState,
} from '@a2a-js/sdk'
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client'
import type { ProtocolScene } from './protocol-scene.ts'

type Who = keyof ProtocolScene['tokens']
export interface AgentPlace {
  readonly agent?: string
  readonly at?: { readonly info: { readonly url: string } }
}

/** A client that found the agent by its card. */
export function a2aClient(
  scene: ProtocolScene,
  who: Who = 'admin',
  { agent, at = scene.gateway }: AgentPlace = {},
): Promise<Client> {
  const fetchImpl: typeof fetch = (url, init) =>
    fetch(url, {
      ...init,
      headers: {
        ...Object.fromEntries(new Headers(init?.headers)),
        authorization: `Bearer ${scene.tokens[who]}`,
      },
    })
  const options = {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  }
  const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, options))
  return factory.createFromUrl(
    agent === undefined ? at.info.url : `${at.info.url}/a2a/${encodeURIComponent(agent)}/`,
  )
}

let ids = 0
export const freshId = (): string => `message-${++ids}`

type Said = string | { readonly [key: string]: unknown }
const partOf = (said: Said): Message['parts'][number] => ({
  content: typeof said === 'string' ? { $case: 'text', value: said } : { $case: 'data', value: said },
  mediaType: '',
  filename: '',
  metadata: undefined,
})

export function message(
  said: Said,
  over: Partial<Message> = {},
  configuration: Partial<NonNullable<SendMessageRequest['configuration']>> = {},
): SendMessageRequest {
  const { messageId = freshId(), ...rest } = over
  return {
    tenant: '',
    metadata: undefined,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
      ...configuration,
    },
    message: {
      messageId,
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [partOf(said)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...rest,
    },
  }
}

export const now = { returnImmediately: true } as const
export const ofTask = (id: string) => ({ tenant: '', id, metadata: undefined })
export const textOf = (parts: Message['parts'] | undefined): string =>
  (parts ?? []).map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
export const answerIn = (task: Task): string => task.artifacts.map(({ parts }) => textOf(parts)).join('|')

export async function sent(client: Client, request: SendMessageRequest): Promise<Task> {
  const answer = await client.sendMessage(request)
  if ('parts' in answer) throw new Error('The agent answered with a message.')
  return answer
}

/** A stream, one line for each message. */
export function words(updates: readonly StreamResponse[]): string[] {
  return updates.map(({ payload }) => {
    if (payload?.$case === 'task') return `task ${stateName(payload.value.status?.state)}`
    if (payload?.$case === 'statusUpdate') {
      const { state, message: why } = payload.value.status ?? {}
      return `${stateName(state)}${why === undefined ? '' : `: ${textOf(why.parts)}`}`
    }
    if (payload?.$case !== 'artifactUpdate') return 'message'
    const { append, lastChunk, artifact } = payload.value
    return `${append ? '+' : '='}${textOf(artifact?.parts)}${lastChunk ? '.' : ''}`
  })
}
const stateName = (state: TaskState | undefined): string =>
  (TaskState[state ?? 0] ?? '').replace('TASK_STATE_', '')

export async function all(stream: AsyncGenerator<StreamResponse>): Promise<StreamResponse[]> {
  const updates: StreamResponse[] = []
  for await (const each of stream) updates.push(each)
  return updates
}

/** What a client has at the end, if it does as the specification says. */
export function held(updates: readonly StreamResponse[]): string {
  let text = ''
  for (const { payload } of updates)
    if (payload?.$case === 'artifactUpdate')
      text = `${payload.value.append ? text : ''}${textOf(payload.value.artifact?.parts)}`
  return text
}

export const reasonOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: Error) => `${error.name.replace('JsonRpc', '')}: ${error.message}`,
  )
