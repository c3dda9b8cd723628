// The models of the embedding program, as the option `models` gives them. They are checked when the service
// is made, because a program may be JavaScript. Their names are checked with those of the configuration.
import type { ChatProvider } from '@beaver/agent'
import type { OwnModel, OwnModels } from '@beaver/daemon'
import { BeaverError } from '@beaver/core'

/** @throws {BeaverError} `invalid_configuration` */
export function ownModels(given: Readonly<Record<string, ChatProvider | OwnModel>>): OwnModels {
  return Object.fromEntries(
    Object.entries(given).map(([name, each]) => {
      const model: OwnModel = isProvider(each) ? { provider: each } : each
      const fault = faultOf(model)
      if (fault === null) return [name, model]
      const message = `The model ${JSON.stringify(name)} of the program ${fault}.`
      throw new BeaverError('invalid_configuration', message, {
        problems: [{ path: `models.${name}`, message }],
      })
    }),
  )
}

const isProvider = (value: ChatProvider | OwnModel): value is ChatProvider =>
  typeof value === 'object' && value !== null && 'chat' in value

function faultOf(model: OwnModel): string | null {
  const provider: Partial<ChatProvider> | null | undefined = model?.provider
  if (typeof provider !== 'object' || provider === null || typeof provider.chat !== 'function')
    return 'is neither a ChatProvider, which has a method chat, nor an object with one as its provider'
  if (!isName(provider.name)) return 'needs a name, which says who made it: a text of 1 to 100 characters'
  if (!isName(provider.model)) return 'needs the name of its model: a text of 1 to 100 characters'
  const counts = { contextTokens: provider.contextTokens, ...model }
  for (const [key, [least, most]] of Object.entries(bounds) as [
    keyof typeof bounds,
    readonly [number, number],
  ][]) {
    const value = counts[key]
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= least && value <= most))
      return `has a ${key} that is no whole number from ${least} to ${most}`
  }
  return null
}

/** As in the configuration. */
const bounds = {
  contextTokens: [1_000, 100_000_000],
  timeoutMs: [100, 3_600_000],
  idleMs: [100, 3_600_000],
  requestsPerMinuteMax: [1, 10_000_000],
  tokensPerMinuteMax: [1, 10_000_000_000],
} as const

const isName = (value: unknown): boolean =>
  typeof value === 'string' && value.trim() !== '' && value.length <= 100
