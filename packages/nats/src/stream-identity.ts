// The identity of a stream: its name, and when it was made. It differs from that of a stream with the same
// name that was made later. A server makes a restored stream with a new time. So its metadata keep the first
// one, and it is the stream that it was. What its messages are is judged by other means: the mark, the chain,
// the signatures and the checkpoints.

/** In the metadata of a restored stream: when it was made first. */
const createdKey = 'beaver-created'

interface Made {
  readonly created: string
  readonly config: { readonly metadata?: Readonly<Record<string, string>> | undefined }
}

/** When a stream was made first. */
export const createdOf = ({ created, config }: Made): string => config.metadata?.[createdKey] ?? created

/** The configuration of a stream that is restored. What a server noted in it about itself is left out. */
export function withCreated<Config extends Made['config']>(config: Config, created: string): Config {
  const own = Object.entries(config.metadata ?? {}).filter(([key]) => !key.startsWith('_nats.'))
  return { ...config, metadata: { ...Object.fromEntries(own), [createdKey]: created } }
}

export const identityOf = (stream: string, made: Made): string => `${stream}@${createdOf(made)}`
