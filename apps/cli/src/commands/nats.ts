// `beaver nats`: shows how the servers of a cluster hold the streams. `apply` changes existing streams to
// what the configuration says. It shows the difference and asks first; without a terminal, the user must give
// --yes. Before the change, it writes an event about it, signed by the operator. What it prints at the end
// comes from the servers, not from the request.
import { BeaverError, messageOf, pause, systemClock } from '@beaver/core'
import { appendSystemEvent, operatorSigner } from '@beaver/core/journal'
import {
  callerName,
  isRefusedWith,
  type PlacedConfig,
  type PlacedStream,
  placedStreams,
  standingOf,
  placeStream,
  replicasExpected,
  storedPlacement,
  tooFewServers,
} from '@beaver/nats'
import type { Config } from '@beaver/platform'
import { type Connection, connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { readLine } from '../follow/read-line.ts'
import type { Screen } from '../screen.ts'
import { findSystem } from '../system/find-system.ts'
import { counted } from '../text/figures.ts'
import { followersText } from '../text/placed-stream.ts'
import { table } from '../text/table.ts'
import { progressOn } from '../view/progress.ts'
import { keyPortsOf } from './keys.ts'

export interface NatsOptions {
  readonly yes?: true
  readonly json?: true
}

/** How long the servers may take to copy the streams, in milliseconds. */
const copiedMsMax = 120_000
/** How long a refused change is tried again, in milliseconds. */
const placedMsMax = 10_000
const lookMs = 250

export async function natsShow({ json }: NatsOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config, 'operator'))
  const streams = await placedStreams(connection.nc, connection.subjects)
  if (json === true) screen.json({ streams: streams.map(answerOf) })
  else screen.print(...streamLines(streams, screen))
  return streams.every((stream) => standingOf(stream).survives) ? 0 : 1
}

const answerOf = (stream: PlacedStream): object => {
  const { name, what, num_replicas: replicas, placement = null, cluster, leader, followers } = stream
  return {
    stream: name,
    holds: what,
    replicas,
    placement,
    cluster,
    leader,
    followers,
    survives_the_loss_of_one: standingOf(stream).survives,
  }
}

const noStreams = 'Beaver has no streams at this server yet. The first daemon makes them.'

function streamLines(
  streams: readonly PlacedStream[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
): string[] {
  if (streams.length === 0) return [noStreams]
  const alone = streams.every(({ cluster }) => cluster === null)
  const weak = streams.filter((stream) => !standingOf(stream).survives)
  const still = streams.filter(({ leader }) => !alone && leader === null)
  const names = (some: readonly PlacedStream[]): string => some.map(({ name }) => name).join(', ')
  return [
    ...table<PlacedStream>(
      [
        { title: 'STREAM', cell: ({ name }) => name, paint: style.cyan },
        { title: 'HOLDS', cell: ({ what }) => what, optional: 1 },
        { title: 'REPLICAS', cell: ({ num_replicas: n }) => (n === 0 ? '?' : String(n)) },
        { title: 'LEADER', cell: ({ leader }) => leader ?? (alone ? '' : 'none now') },
        { title: 'FOLLOWERS', cell: followersText, flexible: true },
      ],
      streams,
      { width: columns === Infinity ? 160 : columns, title: style.dim },
    ),
    '',
    alone
      ? 'The nats-server is alone. While it is away, Beaver waits.'
      : still.length > 0
        ? `Nobody leads ${names(still)} now. Beaver goes on when enough servers are back.`
        : weak.length === 0
          ? 'The loss of any one server stops nothing.'
          : `The loss of one server more can stop ${weak.length === streams.length ? 'every stream' : names(weak)}.`,
  ]
}

export async function natsApply(options: NatsOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  const system = findSystem(config, 'operator')
  await using connection = await connect(system)
  const { nc, subjects } = connection
  const streams = await placedStreams(nc, subjects)
  const silent = streams.filter(({ num_replicas: n }) => n === 0)
  if (silent.length > 0)
    throw new BeaverError(
      'unreachable',
      `Nobody answers for ${silent.map(({ name }) => name).join(', ')} now. Nothing was changed.`,
    )
  const changes = changesOf(streams, wanted(config, replicasExpected(nc)))
  if (changes.length === 0) {
    if (options.json === true) screen.json({ changed: [] })
    else screen.print(streams.length === 0 ? noStreams : 'The streams are as the configuration says.')
    return 0
  }
  // With --json, a person sees the difference on stderr.
  if (options.json === true) screen.warn(...changes.map(changeText))
  else screen.print(...changes.map(changeText))
  if (options.yes !== true && !(await agreed())) {
    screen.warn('Nothing was changed.')
    return 1
  }
  await record(connection, config, { changes, by: callerName(system.url, system.login) })
  for (const [before, { stream, to }] of changes.entries()) await change(connection, stream, { to, before })
  const held = await untilCopied(connection, changes, screen)
  if (options.json === true) screen.json({ changed: held.map(answerOf) })
  else
    screen.print(
      ...changes.map((due) => {
        const now = held.find(({ name }) => name === due.stream.name)
        if (now === undefined)
          return screen.style.red(
            `${due.stream.name}: nobody says how it is held now. Look again: beaver nats`,
          )
        const text = `${now.name}: ${placeText(now)}, ${holdersText(now)}`
        return isDone(due, now)
          ? `${screen.symbols.done} ${text}`
          : screen.style.red(`${text}. The servers are not done yet. Look again: beaver nats`)
      }),
      ...auditAdvice(changes),
    )
  return changes.every((due) =>
    isDone(
      due,
      held.find(({ name }) => name === due.stream.name),
    ),
  )
    ? 0
    : 1
}

interface Change {
  readonly stream: PlacedStream
  readonly to: PlacedConfig
}

/** Whether the servers say that they hold the stream as the change requires. */
function isDone({ to }: Change, now: PlacedStream | undefined): boolean {
  if (
    now === undefined ||
    now.moving ||
    now.leader === null ||
    now.num_replicas !== to.num_replicas ||
    placeOf(now) !== placeOf(to)
  )
    return false
  return now.followers.filter(({ current }) => current).length + 1 >= to.num_replicas
}

const placeOf = ({ placement }: PlacedConfig): string => JSON.stringify(placement ?? storedPlacement({}))

/** The target for each stream. If the configuration names no placement, each stream keeps its own. */
const wanted = ({ nats }: Pick<Config, 'nats'>, replicas: number): PlacedConfig => ({
  num_replicas: nats.replicas ?? replicas,
  ...(nats.placement === undefined ? {} : { placement: storedPlacement(nats.placement) }),
})

function changesOf(streams: readonly PlacedStream[], to: PlacedConfig): Change[] {
  return streams
    .filter(
      (stream) =>
        stream.num_replicas !== to.num_replicas ||
        (to.placement !== undefined && placeOf(stream) !== placeOf(to)),
    )
    .map((stream) => ({
      stream,
      to: { ...(stream.placement === undefined ? {} : { placement: stream.placement }), ...to },
    }))
}

const changeText = ({ stream, to }: Change): string =>
  `${stream.name}: ${placeText(stream)} → ${placeText(to)}`

function placeText({
  num_replicas: replicas,
  placement: { cluster = '', tags = [] } = { cluster: '', tags: [] },
}: PlacedConfig): string {
  const at = [
    ...(cluster === '' ? [] : [`in ${cluster}`]),
    ...(tags.length === 0 ? [] : [`with ${tags.join(', ')}`]),
  ]
  return [counted(replicas, 'replica'), ...at].join(' ')
}

function holdersText(stream: PlacedStream): string {
  const followers = followersText(stream)
  if (stream.leader === null) return `no leader now${followers === '' ? '' : `, followers ${followers}`}`
  return `on ${stream.leader} (leader)${followers === '' ? '' : `, ${followers}`}`
}

async function agreed(): Promise<boolean> {
  if (process.stdin.isTTY !== true)
    throw new BeaverError(
      'invalid_arguments',
      'Nobody can agree to the change here, because this is no terminal. Agree with --yes.',
    )
  process.stderr.write('Change the streams like this? [y/N] ')
  const { line } = await readLine(process.stdin, new AbortController().signal)
  return /^y(es)?$/i.test(line?.trim() ?? '')
}

async function record(
  connection: Connection,
  config: Config,
  { changes, by }: { readonly changes: readonly Change[]; readonly by: string },
): Promise<void> {
  const ports = await keyPortsOf(connection, config)
  const event = {
    type: 'streams_placed' as const,
    data: {
      streams: changes.map(({ stream, to }) => ({
        stream: stream.name,
        from: recorded(stream),
        to: recorded(to),
      })),
      by,
    },
  }
  await appendSystemEvent(ports.log, 'redactions', () => event, {
    source: '/beaver/operator',
    now: ports.now,
    ...(await operatorSigner(ports)),
  })
}

const recorded = ({ num_replicas: replicas, placement = storedPlacement({}) }: PlacedConfig) => ({
  replicas,
  ...placement,
  tags: placement.tags ?? [],
})

/**
 * Changes one stream. The servers may refuse the change for some seconds, because a server that just came
 * back takes no replica yet; so it is tried again for `placedMsMax`.
 *
 * @param of.before how many streams were already changed, for the error message
 * @throws {BeaverError} `start_failed` with the message of the server
 */
async function change(
  { nc }: Connection,
  stream: PlacedStream,
  { to, before }: { readonly to: PlacedConfig; readonly before: number },
): Promise<void> {
  const { name } = stream
  const end = Date.now() + placedMsMax
  for (;;) {
    try {
      // The servers do not change both values at once. They also treat a placement that is only written
      // differently as a change.
      if (to.num_replicas !== stream.num_replicas)
        await placeStream(nc, name, { num_replicas: to.num_replicas })
      if (placeOf(to) !== placeOf(stream)) await placeStream(nc, name, to)
      return
    } catch (cause) {
      if (Date.now() > end) {
        const todo = !isRefusedWith(cause, ...tooFewServers)
          ? 'Mend the cause, and repeat the command'
          : to.placement === undefined
            ? `Start more servers, or write "nats": {"replicas": 1} into the configuration`
            : `Give enough servers these tags ("server_tags" in the configuration of a nats-server), or change "nats.placement" or "nats.replicas"`
        const says = `The servers refuse ${placeText(to)} for ${name}: ${messageOf(cause)}. Beaver changed ${counted(before, 'stream')} before this one. ${todo}.`
        throw new BeaverError('start_failed', says, { cause })
      }
      await pause(systemClock, lookMs, new AbortController().signal)
    }
  }
}

/**
 * Waits until the servers have copied the changed streams, for at most `copiedMsMax`, and returns the streams
 * as they are then.
 */
async function untilCopied(
  { nc, subjects }: Connection,
  changes: readonly Change[],
  screen: Screen,
): Promise<readonly PlacedStream[]> {
  const progress = progressOn(screen, true)
  const end = Date.now() + copiedMsMax
  for (;;) {
    const streams = await placedStreams(nc, subjects).catch(() => null)
    const held = streams?.filter(({ name }) => changes.some(({ stream }) => stream.name === name)) ?? []
    const open = changes.filter(
      (due) =>
        !isDone(
          due,
          held.find(({ name }) => name === due.stream.name),
        ),
    )
    if (open.length === 0 || Date.now() > end) {
      progress.end()
      return held
    }
    progress.say(`The servers place ${open.map(({ stream }) => stream.name).join(', ')} …`)
    await pause(systemClock, lookMs, new AbortController().signal)
  }
}

/** The watch over the journal reports each change of the journal's settings, including this one. */
const auditAdvice = (changes: readonly Change[]): string[] =>
  changes.some(({ stream }) => stream.what === 'journal')
    ? [
        'The watch over the journal tells of this change until it is accepted: beaver audit accept --reason "beaver nats apply"',
      ]
    : []
