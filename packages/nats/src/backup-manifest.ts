// The shape of the manifest of a backup. apps/cli/src/system/backup-manifest.ts writes and checks it.
import { z } from 'zod'
import { streamDescription } from './stream-snapshot.ts'

export const backupFormat = 'beaver-backup/1'

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
/** A path in the backup: `home/…` or `streams/…`, and nothing outside of it. */
const path = z
  .string()
  .refine(
    (text) =>
      /^(home|streams)\/[^\\\0]+$/.test(text) &&
      !text.split('/').some((part) => part === '' || part === '.' || part === '..'),
  )

const manifest = z.strictObject({
  format: z.literal(backupFormat),
  /** RFC 3339, UTC: when the backup was begun. */
  made_at: z.string(),
  beaver_version: z.string(),
  nats_server_version: z.string(),
  namespace: z.string(),
  tenant: z.string(),
  streams: z.array(streamDescription.extend({ file: path })),
  files: z.array(z.strictObject({ path, bytes: z.int().nonnegative(), sha256 })),
  /** The SHA-256 of the canonical JSON of all other members. */
  sha256,
})
export const backupManifest = manifest.refine(({ streams, files }) =>
  streams.every(({ file }) => files.some(({ path }) => path === file)),
)
export type BackupManifest = z.infer<typeof backupManifest>
