// The models of a program (docs/how-to/embed.md). They are its functions, so they stay in the main thread;
// each worker thread has a port for the calls of its loops.
import type { ChatProvider } from '@beaver/agent'
import { type Logger, systemFacts } from '@beaver/core'
import { namesOfRoute } from '@beaver/platform'
import { type OwnChoice, serveOwnModels } from '@beaver/providers'

/** A model of the program, and what Beaver does around its calls. */
export interface OwnModel {
  readonly provider: ChatProvider
  /**
   * The models to ask, in this order, if this one does not answer; `main` is the main model. Default: none.
   */
  readonly fallback?: string | readonly string[]
  /** How long a call may take, in milliseconds. Default: `model.timeout_ms` of the configuration. */
  readonly timeoutMs?: number
  /** The silence after which a streamed answer is given up, in milliseconds. Default: `model.idle_ms`. */
  readonly idleMs?: number
  /** The limits of the model, for all loops of the service together. Default: those of `model`. */
  readonly requestsPerMinuteMax?: number
  readonly tokensPerMinuteMax?: number
}

/** The models of a program by name. Runs that name no model use `main`. */
export type OwnModels = Readonly<Record<string, OwnModel>>

/** Serves them to the worker threads. `undefined`: there are none. */
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

/** The choice for a model of the program. @param around the defaults for what it does not set */
export function ownChoice(
  name: string,
  { provider, timeoutMs, idleMs }: OwnModel,
  around: Pick<OwnChoice, 'timeoutMs' | 'idleMs' | 'gateIndex'>,
): OwnChoice {
  const { contextTokens, outputTokensMax } = provider
  return {
    // A program may bring several models of one maker, which events must distinguish.
    provider: `${provider.name}:${name}`,
    own: name,
    model: provider.model,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(outputTokensMax === undefined ? {} : { outputTokensMax }),
    timeoutMs: timeoutMs ?? around.timeoutMs,
    idleMs: idleMs ?? around.idleMs,
    gateIndex: around.gateIndex,
  }
}

/** The models in the route behind a model of the program. */
export const ownRoute = ({ fallback }: OwnModel): readonly string[] => namesOfRoute(fallback)
