// `gateway` of the configuration: the HTTP interface. `beaver gateway` listens as it says.
import { z } from 'zod'
import { channels } from './channels.ts'

const origin = z
  .url('must be an origin, such as https://console.example')
  .refine(
    (text) => /^https?:/.test(text) && !text.includes('*') && URL.parse(text)?.origin === text,
    'must be an origin, such as https://console.example: no path, no "/" at its end, no user name, no "*", no capitals, and no port that is the usual one',
  )

export const gateway = z
  .strictObject({
    /**
     * Whether a system that starts has a gateway too. Default: `beaver up` starts one, and goes on if it
     * cannot start.
     */
    enabled: z.boolean().optional(),
    /** The address on which it listens. */
    host: z.string().min(1).default('127.0.0.1'),
    /**
     * 0: any free port. Default: the port that this home had last, else 20,000; if another program has it,
     * any free port.
     */
    port: z.number().int().min(0).max(65_535).optional(),
    /**
     * Further values of the header `Host` that it answers to, such as the name of a proxy in front. It
     * answers to its own address in any case.
     */
    hosts: z.array(z.string().min(1)).max(100).default([]),
    /** The pages of other origins that may use it from a browser. */
    origins: z.array(origin).max(100).default([]),
    /**
     * The origins from which images are fetched that a request names by their addresses. By default an image
     * comes with its request.
     */
    image_origins: z.array(origin).max(100).default([]),
    /**
     * The folder to which a relative `workspace_dir` of a request is relative. Relative to the configuration
     * file. Default: the folder of the gateway.
     */
    workspace_root: z.string().min(1).optional(),
    body_bytes_max: z.number().int().min(1_024).max(104_857_600).default(2_000_000),
    /**
     * How long a request waits for its task. Default: 600 s for one that reads a stream, and 280 s for
     * others, because many clients give up after 300 s.
     */
    wait_ms_max: z.number().int().min(1_000).max(3_600_000).optional(),
    /**
     * Requests of one token, or of one address where no token is asked for, in bursts of four times as many.
     */
    requests_per_second_max: z.number().int().min(1).max(100_000).default(100),
    /** The networks whose chats become tasks. The key is the name of the channel. */
    channels,
    /**
     * What a stop does with messages that have no answer yet: they wait for the next gateway, or they are
     * answered by an error.
     */
    channels_on_stop: z.enum(['keep', 'errors']).default('keep'),
    /** How long the messages of a gateway that died wait for another one. */
    channels_lease_ms: z.number().int().min(500).max(600_000).default(10_000),
    connections_max: z.number().int().min(1).max(100_000).default(2_000),
    /**
     * The connections of one address. Behind a proxy all connections have its address: then set it to
     * `connections_max`, and let the proxy bound its clients.
     */
    connections_of_address_max: z.number().int().min(1).max(100_000).default(500),
    /** The requests of one token that are open at a time, such as streams. */
    open_requests_max: z.number().int().min(1).max(100_000).default(200),
    /** How long the headers of a request may take. */
    headers_ms_max: z.number().int().min(100).max(60_000).default(10_000),
  })
  .prefault({})
