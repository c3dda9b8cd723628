// Computes how safely the servers hold a stream, and formats it for a person.
import type { PlacedStream } from '@beaver/nats'

export interface Standing {
  /** The number of servers that answer and have all messages. */
  readonly up: number
  /** The number of servers that must answer before anything is stored. */
  readonly needed: number
  /** Whether the stream continues if any one server is lost now. */
  readonly survives: boolean
}

export function standingOf({
  num_replicas: replicas,
  leader,
  followers,
  moving,
}: Pick<PlacedStream, 'num_replicas' | 'leader' | 'followers' | 'moving'>): Standing {
  const up = (leader === null ? 0 : 1) + followers.filter(({ current }) => current).length
  const needed = Math.floor(replicas / 2) + 1
  return { up, needed, survives: !moving && up - 1 >= needed }
}

/** The followers with their faults, such as `n1, n2 away` or `n1, n2 12 behind`. */
export const followersText = ({ followers }: Pick<PlacedStream, 'followers'>): string =>
  followers
    .map(
      ({ server, current, offline, lag }) =>
        `${server}${offline ? ' away' : current ? '' : lag > 0 ? ` ${lag} behind` : ' not current'}`,
    )
    .join(', ')
