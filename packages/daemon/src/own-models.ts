// The models that a program brings (docs/how-to/embed.md). They are functions of the program, so they stay in
// its thread, the main thread; the loops ask them through the port that each worker thread has for it.
import type { ChatProvider } from '@beaver/agent'
import { type Logger, systemFacts } from '@beaver/core'
import { namesOfRoute } from '@beaver/platform'
import { type OwnChoice, serveOwnModels } from '@beaver/providers'

/** A model that the program brings, and what Beaver does around its calls. */
export interface OwnModel {
  readonly provider: ChatProvider
  /**
   * The names of the models that are asked in this order if this one does not answer; `main` is the main
   * model. Default: none.
   */
  readonly fallback?: string | readonly string[]
  /** How long a call may take, in milliseconds. Default: `model.timeout_ms` of the configuration. */
  readonly timeoutMs?: number
  /**
   * A streamed answer that is silent for this long is given up, in milliseconds. Default: `model.idle_ms`.
   */
  readonly idleMs?: number
  /** The limits of the model, for all loops of the service together. Default: those of `model`. */
  readonly requestsPerMinuteMax?: number
  readonly tokensPerMinuteMax?: number
}

/** The models of a program by name. `main` is asked by runs that name no model. */
export type OwnModels = Readonly<Record<string, OwnModel>>

/** How the worker threads ask them. `undefined`: there is none to ask. */
export function servedModels(
  own: OwnModels,
  logger: Logger,
): ((port: Parameters<typeof serveOwnModels>[0]) => () => void) | undefined {
  const models = new Map(Object.entries(own).map(([name, { provider }]) => [name, provider]))
  if (models.size === 0) return undefined
  const onDefect = (name: string, error: unknown): void =>
    systemFacts.callbackFailed(logger, { where: `the model ${name} of the program`, error })
  return (port) => serveOwnModels(port, { models, onDefect })
}

/** How a model of the program is asked. @param around what holds for it if it does not say it itself */
export function ownChoice(
  name: string,
  { provider, timeoutMs, idleMs }: OwnModel,
  around: Pick<OwnChoice, 'timeoutMs' | 'idleMs' | 'gateIndex'>,
): OwnChoice {
  const { contextTokens } = provider
  return {
    // A program may give several models of one maker, and events have to tell them apart.
    provider: `${provider.name}:${name}`,
    own: name,
    model: provider.model,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    timeoutMs: timeoutMs ?? around.timeoutMs,
    idleMs: idleMs ?? around.idleMs,
    gateIndex: around.gateIndex,
  }
}

/** The names after a model of the program in its route. */
export const ownRoute = ({ fallback }: OwnModel): readonly string[] => namesOfRoute(fallback)
