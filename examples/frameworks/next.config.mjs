export default {
  // Drivers have files that cannot be bundled.
  serverExternalPackages: ['better-sqlite3', 'pg'],
  // The console's own address ends in a slash, and its links are relative to that.
  skipTrailingSlashRedirect: true,
}
