// Advice for a person whose gateway has no tokens for programs.
import { commandName } from '../command-name.ts'

export const tokenAdvice = (): string =>
  `Make one: ${commandName()} token create <name> --role submit --role read`

/**
 * What does not work, and what does, with a gateway without tokens.
 *
 * @param channels the names of the channels that the gateway serves
 */
export function withoutTokens(channels: readonly string[]): string {
  const [first, ...more] = channels
  if (first === undefined) return 'so no program can use the HTTP interface'
  return `so no program can use the HTTP interface. ${more.length === 0 ? `The channel ${first} needs` : `The channels ${channels.join(', ')} need`} none`
}
