// Tries what an identity must not be able to do at a NATS server, for tests and `beaver doctor`. An attempt
// changes nothing even if it is permitted: nobody carries out its content, and a message for a stream expects
// a last sequence that no stream has. Only the server's refusal counts as refused; an answer, or the report
// that nobody listens, means that the message got through.
import { queryContracts, requestContracts } from '@beaver/contracts'
import {
  headers,
  type NatsConnection,
  PermissionViolationError,
  RequestError,
  TimeoutError,
} from '@nats-io/nats-core'
import type { Role } from './permissions.ts'
import type { Subjects } from './subjects.ts'

export interface Attempt {
  /** In words that follow "may not": `write a task's log`. */
  readonly what: string
  readonly how: 'publish' | 'subscribe'
  readonly subject: string
}

const publish = (what: string, subject: string): Attempt => ({ what, how: 'publish', subject })
const subscribe = (what: string, subject: string): Attempt => ({ what, how: 'subscribe', subject })

/**
 * What a role must not do in its own tenant.
 *
 * @param subjects the subjects of the tenant, with the identity's name as the caller
 */
export function beyondRole(role: Role, subjects: Subjects): Attempt[] {
  const log = { tenant: subjects.tenant, session: 'probe', task: 'probe' } as Parameters<Subjects['log']>[0]
  const { stream, wakeStream } = subjects
  const asAnother = subjects.service('status').split('.').with(4, 'somebody').join('.')
  const writesLogs = [
    publish('accept a task in the journal', subjects.accepted(log)),
    publish("write a task's log", subjects.events(log)),
  ]
  const daemonOnly = [
    publish('wake a task', subjects.wake(log)),
    publish('set the alarm of a task', subjects.alarm(log)),
    publish('announce a daemon', subjects.presence),
    publish('command a daemon', subjects.daemon('probe')),
    publish('announce that a task ended', subjects.ended(log)),
    publish('publish live output', subjects.live(log)),
    publish('write a blob', `$O.${subjects.blobBucket}.C.probe`),
    publish('change the memory of agents', `$KV.${subjects.memoryBucket}.probe`),
    publish('change what was used of a budget', `$KV.${subjects.budgetBucket}.probe`),
    publish('take a task from the queue', `$JS.API.CONSUMER.MSG.NEXT.${stream}.daemons`),
    subscribe('receive requests to daemons', subjects.services('>')),
    subscribe('receive commands to daemons', subjects.anyDaemon),
  ]
  const administers = [
    ...[stream, wakeStream].flatMap((each) => [
      publish(`delete the stream ${each}`, `$JS.API.STREAM.DELETE.${each}`),
      publish(`purge the stream ${each}`, `$JS.API.STREAM.PURGE.${each}`),
      publish(`change the stream ${each}`, `$JS.API.STREAM.UPDATE.${each}`),
      publish(`restore the stream ${each}`, `$JS.API.STREAM.RESTORE.${each}`),
      publish(`copy the stream ${each}`, `$JS.API.STREAM.SNAPSHOT.${each}`),
    ]),
    publish('delete an entry of the journal', `$JS.API.STREAM.MSG.DELETE.${stream}`),
    publish('make a consumer of the journal', `$JS.API.CONSUMER.CREATE.${stream}.probe`),
    publish(
      'make a consumer of the accounts of budgets',
      `$JS.API.CONSUMER.CREATE.KV_${subjects.budgetBucket}.probe`,
    ),
    publish('delete the queue of daemons', `$JS.API.CONSUMER.DELETE.${stream}.daemons`),
    publish('make another stream', '$JS.API.STREAM.CREATE.probe'),
  ]
  const always = [
    publish('ask in the name of somebody else', asAnother),
    subscribe('receive the answers of others', '_INBOX_somebody.>'),
    subscribe('receive everything', '>'),
  ]
  const tellsChanges = publish('tell that tasks changed', subjects.changed)
  const answersQueries = subscribe('receive queries', subjects.queries('>'))
  const lane = subjects.channelLane('inbound', 'probe', 'probe', 'message')
  const chats = [
    publish('speak for a person in a chat', lane),
    subscribe('hear what people write in chats', lane),
  ]
  const forOthers = publish('ask on behalf of others', subjects.behalf('status'))
  switch (role) {
    case 'client':
      return [
        ...always,
        ...writesLogs,
        ...daemonOnly,
        ...administers,
        ...chats,
        answersQueries,
        tellsChanges,
        forOthers,
        publish('add a workflow to a profile', subjects.service('profile.add_workflow')),
      ]
    case 'gateway':
      return [...always, ...writesLogs, ...daemonOnly, ...administers, answersQueries, tellsChanges]
    case 'operator':
      return [
        ...always,
        ...writesLogs,
        ...daemonOnly.filter(({ subject }) => !/^\$(?:JS\.API|O)\./.test(subject)),
        answersQueries,
        tellsChanges,
      ]
    case 'projector':
      return [
        ...always,
        ...writesLogs,
        ...daemonOnly,
        ...administers,
        ...chats,
        forOthers,
        publish('submit a task', subjects.service('task.submit')),
      ]
    case 'daemon':
      return [...always, ...administers, ...chats, answersQueries, tellsChanges, forOthers]
    default:
      return role satisfies never
  }
}

/** A part of what a role needs: enough to recognise a login of another role. */
export function neededBy(role: 'daemon' | 'projector' | 'gateway', subjects: Subjects): Attempt[] {
  const log = { tenant: subjects.tenant, session: 'probe', task: 'probe' } as Parameters<Subjects['log']>[0]
  switch (role) {
    case 'daemon':
      return [
        subscribe('receive requests to daemons', subjects.services('>')),
        publish('accept a task in the journal', subjects.accepted(log)),
      ]
    case 'projector':
      return [subscribe('receive queries', subjects.queries('>'))]
    case 'gateway':
      return [publish('ask on behalf of others', subjects.behalf('status'))]
    default:
      return role satisfies never
  }
}

/** What no identity of another tenant may do: read, write, ask, answer or take anything of this tenant. */
export function ofAnotherTenant(of: Subjects): Attempt[] {
  const log = { tenant: of.tenant, session: 'probe', task: 'probe' } as Parameters<Subjects['log']>[0]
  const blobs = `OBJ_${of.blobBucket}`
  return [
    ...Object.keys(requestContracts).map((name) => publish(`ask for ${name}`, of.service(name))),
    ...Object.keys(queryContracts).map((name) => publish(`query ${name}`, of.query(name))),
    publish('ask on behalf of somebody', of.behalf('task.submit')),
    publish('accept a task', of.accepted(log)),
    publish("write a task's log", of.events(log)),
    publish("claim a task's id", of.taskId(of.tenant, 'probe')),
    publish('wake a task', of.wake(log)),
    publish('set an alarm', of.alarm(log)),
    publish('announce a daemon', of.presence),
    publish('ask which daemons are present', of.presenceQuestion),
    publish('command a daemon', of.daemon('probe')),
    publish('announce the end of a task', of.ended(log)),
    publish('publish live output', of.live(log)),
    publish('read about the stream', `$JS.API.STREAM.INFO.${of.stream}`),
    publish('read an entry of the journal', `$JS.API.STREAM.MSG.GET.${of.stream}`),
    publish('read the journal', `$JS.API.DIRECT.GET.${of.stream}`),
    publish('read the newest entry of a log', `$JS.API.DIRECT.GET.${of.stream}.${of.events(log)}`),
    publish('take a task from the queue', `$JS.API.CONSUMER.MSG.NEXT.${of.stream}.daemons`),
    publish('take a wake', `$JS.API.CONSUMER.MSG.NEXT.${of.wakeStream}.daemons`),
    publish('acknowledge a task', `$JS.ACK.${of.stream}.daemons.1.1.1.1.0`),
    publish('make a consumer', `$JS.API.CONSUMER.CREATE.${of.stream}.probe`),
    publish('read a blob', `$JS.API.DIRECT.GET.${blobs}`),
    publish('write a blob', `$O.${of.blobBucket}.C.probe`),
    publish('read the memory of agents', `$JS.API.DIRECT.GET.KV_${of.memoryBucket}`),
    publish('change the memory of agents', `$KV.${of.memoryBucket}.probe`),
    publish('read what was used of budgets', `$JS.API.STREAM.MSG.GET.KV_${of.budgetBucket}`),
    publish('change what was used of a budget', `$KV.${of.budgetBucket}.probe`),
    publish('speak for a person in a chat', of.channelLane('inbound', 'probe', 'probe', 'message')),
    publish('take a message of a chat', `$JS.API.CONSUMER.MSG.NEXT.${of.channelStream}.probe`),
    publish('read dead letters', `$JS.API.DIRECT.GET.${of.channelStream}`),
    subscribe('hear what people write in chats', of.channelLane('inbound', 'probe', 'probe', 'message')),
    subscribe('follow logs', of.logs),
    subscribe('follow live output', of.anyLive),
    subscribe('hear of the ends of tasks', of.anyEnded),
    publish('tell that tasks changed', of.changed),
    subscribe('hear which tasks changed', of.changed),
    subscribe('receive requests', of.services('>')),
    subscribe('receive queries', of.queries('>')),
    subscribe('receive commands', of.anyDaemon),
  ]
}

/** Those attempts that a connection is permitted. @throws {Error} if the connection is lost */
export async function permitted(nc: NatsConnection, attempts: readonly Attempt[]): Promise<Attempt[]> {
  const found: Attempt[] = []
  // One at a time, because a refusal names only the subject.
  for (const attempt of attempts) if (await isPermitted(nc, attempt)) found.push(attempt)
  return found
}

const answerMsMax = 1_000

function isPermitted(nc: NatsConnection, { how, subject }: Attempt): Promise<boolean> {
  return how === 'publish' ? maySend(nc, subject) : mayReceive(nc, subject)
}

async function maySend(nc: NatsConnection, subject: string): Promise<boolean> {
  const head = headers()
  head.set('Nats-Expected-Last-Sequence', String(Number.MAX_SAFE_INTEGER))
  try {
    await nc.request(subject, 'This is a test of permissions. It is no request.', {
      timeout: answerMsMax,
      headers: head,
    })
    return true
  } catch (error) {
    if (
      error instanceof PermissionViolationError ||
      (error instanceof Error && error.cause instanceof PermissionViolationError)
    )
      return false
    // Nobody listens, or nobody answers something that is no request: the message got through.
    if (error instanceof TimeoutError || error instanceof RequestError) return true
    throw error
  }
}

async function mayReceive(nc: NatsConnection, subject: string): Promise<boolean> {
  let refused = false
  const subscription = nc.subscribe(subject, {
    callback: (error) => void (refused ||= error instanceof PermissionViolationError),
  })
  await nc.flush()
  // The refusal comes before the answer to the flush, but the client may report it a moment later.
  await new Promise((resolve) => setImmediate(resolve))
  if (!subscription.isClosed()) subscription.unsubscribe()
  return !refused
}
