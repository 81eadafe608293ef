// The versions of the site by folder, the newest first. tools/site_versions.py writes it where several stand side by side.
globalThis.siteVersions = [];
