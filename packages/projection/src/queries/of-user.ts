// What belongs to one user, for queries that are asked for that user.
import type { SqlValue } from '../store/sql.ts'

/** `null`: what belongs to no user. `undefined`: whatever there is. */
export type OfUser = string | null | undefined

/**
 * A condition for rows that have a `user_id`, to be joined with `and`, and its values.
 *
 * @param place the number of the value, in a statement that numbers its values. Default: the values stand in
 * their order.
 */
export const ofUser = (
  user: OfUser,
  place: number | '' = '',
): readonly [condition: string, values: readonly SqlValue[]] =>
  user === undefined ? ['', []] : [`and user_id is ?${place}`, [user]]
