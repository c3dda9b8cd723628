// The identity of a stream: its name and the time when it was first made, unlike any later stream of this
// name. A server gives a restored stream a new time, so its metadata keep the first one.

/** The key of the first time in the metadata of a restored stream. */
const createdKey = 'beaver-created'

interface Made {
  readonly created: string
  readonly config: { readonly metadata?: Readonly<Record<string, string>> | undefined }
}

export const createdOf = ({ created, config }: Made): string => config.metadata?.[createdKey] ?? created

/** The configuration of a restored stream, without the server's own notes. */
export function withCreated<Config extends Made['config']>(config: Config, created: string): Config {
  const own = Object.entries(config.metadata ?? {}).filter(([key]) => !key.startsWith('_nats.'))
  return { ...config, metadata: { ...Object.fromEntries(own), [createdKey]: created } }
}

export const identityOf = (stream: string, made: Made): string => `${stream}@${createdOf(made)}`
