// `egress` of the configuration: what may leave a run after it has read something private, a stranger's text
// or a secret.
import { defaultEgressPolicy, guards, type Sink } from '@beaver/core/taint'
import { z } from 'zod'

/** One row of `egress.policy`. */
function row(sink: Sink) {
  const standard = defaultEgressPolicy[sink]
  return z
    .strictObject({
      private: z.enum(guards).default(standard.private),
      untrusted: z.enum(guards).default(standard.untrusted),
      secret: z.enum(guards).default(standard.secret),
    })
    .prefault({})
}

export const egress = z
  .strictObject({
    /** Hosts that any run may contact with `web_fetch`: `host`, `host:port` or `*.domain`. */
    hosts_allowed: z.array(z.string().min(1)).max(1_000).default([]),
    /** The decision for each kind of sink after each kind of text. */
    policy: z
      .strictObject({
        fetch: row('fetch'),
        query: row('query'),
        send: row('send'),
        memory: row('memory'),
        command: row('command'),
        files: row('files'),
      })
      .prefault({}),
    /**
     * Paths of files with secrets and with strangers' text, besides those that Beaver knows. `*` matches any
     * characters.
     */
    secret_paths: z.array(z.string().min(1)).max(1_000).default([]),
    untrusted_paths: z.array(z.string().min(1)).max(1_000).default([]),
    /** Paths of files that are the user's own, although they look like strangers'. */
    own_paths: z.array(z.string().min(1)).max(1_000).default([]),
  })
  .prefault({})
