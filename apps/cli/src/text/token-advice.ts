// What a person does who has a gateway and no tokens.
import { commandName } from '../command-name.ts'

export const tokenAdvice = (): string =>
  `Make one: ${commandName()} token create <name> --role submit --role read`

/**
 * What a gateway without tokens does.
 *
 * @param channels the channels that it serves, by their names
 */
export function withoutTokens(channels: readonly string[]): string {
  const [first, ...more] = channels
  if (first === undefined) return 'so nobody can use the HTTP interface'
  return `so nobody can use the HTTP interface. ${more.length === 0 ? `The channel ${first} needs` : `The channels ${channels.join(', ')} need`} none`
}
