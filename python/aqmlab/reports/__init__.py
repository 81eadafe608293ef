"""Reports: results as one HTML file, which a browser shows without a network."""
