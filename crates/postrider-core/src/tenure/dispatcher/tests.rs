pub mod stand;
