// `beaver backup` and `beaver restore` in the table of commands.
import type { BackupOptions } from '../commands/backup.ts'
import { type CommandSpec, json } from './command-spec.ts'

export const backupCommands: readonly CommandSpec[] = [
  {
    name: 'backup',
    usage: 'backup <folder>',
    group: 'System',
    says: 'Copy the streams, keys and marks to a folder',
    example: 'beaver backup /backups/2026-11-27',
    more: 'The system may run meanwhile. The folder must not exist, or be empty. The backup holds private keys and tokens: a person who can read it can act in the name of this system. It is read again and checked. A backup that was interrupted has no manifest.json and counts for nothing.',
    build: (command, run) =>
      command
        .argument('<folder>', 'a new folder for the backup')
        .addOption(
          json('print {folder, made_at, namespace, tenant, streams, files, bytes, left_out, keys_outside}'),
        )
        .action((folder: string, options: BackupOptions) =>
          run(async (globals) => (await import('../commands/backup.ts')).backup(folder, options, globals)),
        ),
  },
  {
    name: 'restore',
    usage: 'restore <folder>',
    group: 'System',
    says: 'Make a home, and its streams, from a backup',
    example: 'beaver restore /backups/2026-11-27 --home .beaver',
    more: 'Everything is checked before anything is written. The home must not exist, or be empty, and a server that NATS_URL names must hold nothing else. Stop the system from which the backup is before you start the restored one: both would go on with the same tasks.',
    build: (command, run) =>
      command
        .argument('<folder>', 'the folder of the backup')
        .addOption(json('print {home, made_at, namespace, tenant, streams, files, bytes, marks, findings}'))
        .action((folder: string, options: BackupOptions) =>
          run(async (globals) => (await import('../commands/backup.ts')).restore(folder, options, globals)),
        ),
  },
]
