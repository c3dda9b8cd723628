// The servers of a stream, for a person.
import type { PlacedStream } from '@beaver/nats'

/** The followers with their faults, such as `n1, n2 away` or `n1, n2 12 behind`. */
export const followersText = ({ followers }: Pick<PlacedStream, 'followers'>): string =>
  followers
    .map(
      ({ server, current, offline, lag }) =>
        `${server}${offline ? ' away' : current ? '' : lag > 0 ? ` ${lag} behind` : ' not current'}`,
    )
    .join(', ')
